/** The picture of the server, followed for as long as the page is open. */

import { Refusal, ask, eventsOf } from "./server.js";

const AGAIN_MS = 1500;

/**
 * Follow the server's feed, and begin again when it ends or the server goes away.
 *
 * @param on `status` and `figures` get what is told, `lost` that nothing answers,
 *   `refused` a Refusal that a key may mend; after that nothing more comes.
 */
export async function follow(on) {
  for (;;) {
    const began = performance.now();
    try {
      const response = await ask("admin/status/events");
      for await (const { event, data } of eventsOf(response)) hear(on[event], data);
      // A server that is about to go ends its feeds at once.
      if (performance.now() - began < AGAIN_MS) await pause();
    } catch (error) {
      if (error instanceof Refusal && error.wantsKey) {
        on.refused(error);
        return;
      }
      on.lost(error);
      await pause();
    }
  }
}

/** What cannot be shown is no reason to say that the server is gone. */
function hear(listener, data) {
  try {
    listener?.(JSON.parse(data));
  } catch (error) {
    console.error(error);
  }
}

const pause = () => new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
