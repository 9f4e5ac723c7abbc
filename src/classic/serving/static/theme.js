// Runs before the first paint, so that a chosen theme never flashes. "auto" follows the system.
(() => {
  const key = "classic-theme";
  const order = ["auto", "light", "dark"];
  const root = document.documentElement;

  function read() {
    try {
      return order.includes(localStorage.getItem(key)) ? localStorage.getItem(key) : "auto";
    } catch {
      return "auto"; // storage may be forbidden; the theme then lasts as long as the page
    }
  }

  function apply(theme) {
    if (theme === "auto") delete root.dataset.theme;
    else root.dataset.theme = theme;
  }

  let theme = read();
  apply(theme);
  document.addEventListener("DOMContentLoaded", () => {
    const button = document.getElementById("theme");
    const label = () => {
      button.setAttribute("aria-label", `Theme: ${theme}`);
      button.lastElementChild.textContent = `Theme: ${theme}`;
    };
    label();
    button.addEventListener("click", () => {
      theme = order[(order.indexOf(theme) + 1) % order.length];
      try {
        localStorage.setItem(key, theme);
      } catch {
        // see above
      }
      apply(theme);
      label();
    });
  });
})();
