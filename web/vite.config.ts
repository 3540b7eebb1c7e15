import { svelte } from "@sveltejs/vite-plugin-svelte";
import { defineConfig } from "vite";

// Names without hashes: the server has the browser ask each time, and a rebuild changes no file's name.
export default defineConfig({
  base: "/static/",
  plugins: [svelte()],
  build: {
    outDir: "../services/dashboard/static",
    emptyOutDir: true,
    target: "es2022",
    modulePreload: { polyfill: false },
    reportCompressedSize: true,
    rollupOptions: {
      output: { entryFileNames: "app.js", chunkFileNames: "[name].js", assetFileNames: "app[extname]" },
    },
  },
  server: { proxy: { "/api": "http://127.0.0.1:8765", "/healthz": "http://127.0.0.1:8765" } },
});
