// In every page: the reader's choice of colours, before anything is painted.
try {
  const theme = localStorage.getItem("theme");
  if (theme) document.documentElement.dataset.theme = theme;
} catch {
  // nothing is kept here: the colours are those of the system
}
