import { mount } from "svelte";
import App from "./App.svelte";
import "./app.css";
import { address } from "./lib/address.svelte";
import { feed } from "./lib/feed.svelte";
import { moment } from "./lib/moment.svelte";

address.start();
feed.start();
moment.start();
mount(App, { target: document.body });
