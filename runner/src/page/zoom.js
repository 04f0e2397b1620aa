// Zooms timelines: moves the bars and writes other times below the marks. Without it they stand still.
for (const figure of document.querySelectorAll('figure.timeline')) {
  let from = 0, to = 1; // The part that is shown.
  const pictures = [...figure.querySelectorAll('svg')].map(svg => {
    const left = +svg.dataset.left, width = svg.dataset.right - left, end = +svg.dataset.end;
    const bars = [...svg.querySelectorAll('rect')].map(bar => {
      const start = (bar.getAttribute('x') - left) / width;
      return { bar, start, stop: start + bar.getAttribute('width') / width };
    });
    const marks = [...svg.querySelectorAll('text.time')].map(text =>
      ({ text, place: (text.getAttribute('x') - left) / width }));
    return { svg, left, width, end, bars, marks };
  });
  const show = (start, stop) => {
    const length = Math.min(1, Math.max(1e-5, stop - start));
    from = Math.min(1 - length, Math.max(0, start)); to = from + length;
    for (const { left, width, end, bars, marks } of pictures) {
      for (const { bar, start, stop } of bars) {
        const x = Math.max(0, (start - from) / length), right = Math.min(1, (stop - from) / length);
        bar.style.display = right > x ? '' : 'none';
        bar.setAttribute('x', left + x * width);
        bar.setAttribute('width', Math.max(0, right - x) * width);
      }
      const digits = Math.max(0, Math.ceil(-Math.log10(length * end / 100)));
      for (const { text, place } of marks) text.textContent = ((from + place * length) * end).toFixed(digits);
    }
  };
  const zoom = (factor, at = (from + to) / 2) => show(at - (at - from) * factor, at + (to - at) * factor);
  const step = part => show(from + part * (to - from), to + part * (to - from));
  const buttons = document.createElement('div');
  buttons.className = 'zoom';
  for (const [name, label, act] of [
    ['+', 'closer', () => zoom(0.5)], ['\u2212', 'farther', () => zoom(2)], ['\u25c0', 'earlier', () => step(-0.5)],
    ['\u25b6', 'later', () => step(0.5)], ['all', 'all of it', () => show(0, 1)]]) {
    const button = document.createElement('button');
    button.textContent = name; button.title = label; button.setAttribute('aria-label', label); button.onclick = act;
    buttons.append(button);
  }
  figure.querySelector('.legend').after(buttons);
  for (const { svg, left, width } of pictures) svg.addEventListener('wheel', event => {
    if (!event.ctrlKey && !event.shiftKey) return; // The page scrolls as ever.
    event.preventDefault();
    const box = svg.getBoundingClientRect(), scale = svg.viewBox.baseVal.width / box.width;
    const place = ((event.clientX - box.left) * scale - left) / width;
    zoom(event.deltaY + event.deltaX < 0 ? 0.8 : 1.25, from + place * (to - from));
  }, { passive: false });
}
