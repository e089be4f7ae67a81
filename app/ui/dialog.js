/** A question before something is done. */

import { byId, say } from "./element.js";

/**
 * Ask; gives what `act` gave once it was done, or null if it was not wanted.
 *
 * @param question `title`, `body` (elements), `yes` (the button; none to only tell),
 *   `act` (does it; what it raises is shown, and it can be tried again), `danger`.
 */
export function asked({ title, body, yes, act, danger = false }) {
  const [dialog, button] = [byId("dialog"), byId("dialog-yes")];
  if (dialog.open) return Promise.resolve(null); // a button was pressed twice
  say(byId("dialog-head"), title);
  byId("dialog-body").replaceChildren(...body);
  say(byId("dialog-problem"), "");
  button.hidden = !yes;
  button.disabled = false;
  button.classList.toggle("danger", danger);
  say(button, yes ?? "");
  say(byId("dialog-no"), yes ? "Cancel" : "Close");
  dialog.showModal();
  return new Promise((resolve) => {
    let result = null;
    const work = async () => {
      button.disabled = true;
      try {
        result = await act();
        dialog.close();
      } catch (error) {
        say(byId("dialog-problem"), error.message);
        button.disabled = false;
      }
    };
    button.onclick = work;
    byId("dialog-no").onclick = () => dialog.close();
    dialog.onclose = () => resolve(result);
  });
}
