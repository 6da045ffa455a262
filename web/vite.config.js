import { defineConfig } from "vite";

// One classic script and one style sheet: modules aren't loaded from `file://`.
export default defineConfig({
  publicDir: false,
  build: {
    target: "es2022",
    cssCodeSplit: false,
    reportCompressedSize: false,
    lib: { entry: "src/main.ts", name: "backsightHistory", formats: ["iife"], fileName: () => "history.js", cssFileName: "history" },
  },
});
