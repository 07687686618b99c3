// Sends the forms of the page by fetch and puts the list that comes back into the
// place of the old one. Where no script runs they are ordinary forms.
document.addEventListener('submit', async (event) => {
  const form = event.target
  const get = form.method === 'get'
  const fields = new URLSearchParams(new FormData(form))
  event.preventDefault()
  let answer
  try {
    answer = await fetch(form.action, {
      method: form.method, body: get ? null : fields, headers: { Fragment: 'notes' },
    })
  } catch {
    say('The server does not answer. What you typed is still here: try again in a moment.')
    return
  }
  try {
    const kind = answer.headers.get('Content-Type') || ''
    if (!kind.startsWith('text/html')) throw new Error('no fragment: ' + answer.status)
    document.getElementById('notes').outerHTML = await answer.text()
    if (answer.ok && form.matches('.add')) form.reset()
    const next = document.querySelector('#notes [autofocus]') || document.querySelector('.add input')
    next.focus()
    next.setSelectionRange(next.value.length, next.value.length)
  } catch {
    form.submit() // as without a script, which shows what is wrong
  }
})

// say puts a word above the list; the next list takes it away.
function say (text) {
  document.querySelector('#notes .alert')?.remove()
  const word = Object.assign(document.createElement('p'), { className: 'alert', textContent: text })
  word.setAttribute('role', 'alert')
  document.getElementById('notes').prepend(word)
}
