-- SPDX-License-Identifier: MIT
-- One request in a hundred is that of the address, which is slow; the others ask for "/".
local slow, quick

function init()
  math.randomseed(1) -- the same for every side
  slow, quick = wrk.format("GET", wrk.path), wrk.format("GET", "/")
end

function request()
  if math.random() < 0.01 then
    return slow
  end
  return quick
end
