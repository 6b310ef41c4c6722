// node wasip1.mjs PROGRAM ARGUMENT... runs a program of GOOS=wasip1, which sees all files.
import { readFile } from "node:fs/promises";
import { WASI } from "node:wasi";

const args = process.argv.slice(2);
const wasi = new WASI({ version: "preview1", args, env: { PWD: process.cwd() }, preopens: { "/": "/" }, returnOnExit: true });
const { instance } = await WebAssembly.instantiate(await readFile(args[0]), wasi.getImportObject());
process.exitCode = wasi.start(instance);
