-- SPDX-License-Identifier: MIT
-- Sixteen requests at once, which are answered by as many answers.
local sixteen

function init()
  sixteen = string.rep(wrk.format("GET", wrk.path), 16)
end

function request()
  return sixteen
end
