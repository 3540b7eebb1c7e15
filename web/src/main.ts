import { mount } from "svelte";
import App from "./App.svelte";
import "./app.css";
import { openCut } from "./lib/asking";
import { address } from "./lib/address.svelte";
import { feed } from "./lib/feed.svelte";
import { moment } from "./lib/moment.svelte";

async function begin(): Promise<void> {
  await openCut();
  address.start();
  feed.start();
  moment.start();
  mount(App, { target: document.body });
}

void begin();
