// A worker that runs attn verify on files that the page hands over. Go's files are of Node's form
// (package syscall, fs_js.go); these are blobs, which nobody can write.
"use strict";

const files = new Map();   // of path: a Blob
const folders = new Map(); // of path: the set of names in it
const opened = new Map();  // of a number: {path, at}
let next = 3;              // the first number after those of the console

function add(path, blob) {
	path = normal(path);
	files.set(path, blob);
	for (let at; path !== ""; path = at) {
		at = path.slice(0, path.lastIndexOf("/"));
		if (!folders.has(at)) folders.set(at, new Set());
		folders.get(at).add(path.slice(at.length + 1));
	}
}

const fail = (code) => Object.assign(new Error(code), { code });
const normal = (path) => path.split("/").filter((name) => name !== "" && name !== ".").map((name) => "/" + name).join("");

function stat(path) {
	path = normal(path);
	const dir = folders.has(path);
	if (!dir && !files.has(path)) throw fail("ENOENT");
	const size = dir ? 0 : files.get(path).size;
	return {
		dev: 0, ino: 0, mode: dir ? 0o40555 : 0o100444, nlink: 1, uid: 0, gid: 0, rdev: 0, size, blksize: 4096,
		blocks: Math.ceil(size / 512), atimeMs: 0, mtimeMs: 0, ctimeMs: 0, isDirectory: () => dir,
	};
}

function open(path, flags) {
	stat(path);
	if (flags & 3) throw fail("EROFS");
	opened.set(next, { path: normal(path), at: 0 });
	return next++;
}

function read(fd, buffer, offset, length, position) {
	const file = opened.get(fd);
	if (!file) throw fail(fd === 0 ? "EAGAIN" : "EBADF");
	if (folders.has(file.path)) throw fail("EISDIR");
	const from = position ?? file.at;
	const data = new Uint8Array(new FileReaderSync().readAsArrayBuffer(files.get(file.path).slice(from, from + length)));
	buffer.set(data, offset);
	if (position === null) file.at += data.length;
	return data.length;
}

const decoder = new TextDecoder();
function write(fd, buffer, offset, length) {
	if (fd !== 1 && fd !== 2) throw fail("EBADF");
	postMessage({ text: decoder.decode(buffer.subarray(offset, offset + length)) });
	return length;
}

// Node's functions take a callback for the error and the result.
const calls = {
	open, read, write, stat, lstat: stat,
	fstat: (fd) => opened.has(fd) ? stat(opened.get(fd).path) : stat("/"),
	readdir: (path) => [...folders.get(normal(path))],
	close: (fd) => { opened.delete(fd); },
	fsync: () => {},
};
globalThis.fs = {
	constants: { O_WRONLY: 1, O_RDWR: 2, O_CREAT: 64, O_EXCL: 128, O_TRUNC: 512, O_APPEND: 1024, O_DIRECTORY: 65536 },
	writeSync: (fd, buffer) => write(fd, buffer, 0, buffer.length),
};
for (const name of ["chmod", "chown", "fchmod", "fchown", "ftruncate", "lchown", "link", "mkdir", "readlink", "rename", "rmdir", "symlink", "truncate", "unlink", "utimes"]) {
	calls[name] = () => { throw fail("EROFS"); };
}
for (const [name, call] of Object.entries(calls)) {
	fs[name] = (...args) => {
		const callback = args.pop();
		let result;
		try {
			result = call(...args);
		} catch (err) {
			callback(typeof err.code === "string" ? err : fail("EIO")); // the code of a DOMException is a number
			return;
		}
		callback(null, result);
	};
}

importScripts("wasm_exec.js");

// A message has the receipts and the files of a model: of each the path and the blob.
onmessage = async (event) => {
	try {
		const { receipts, model, path } = event.data;
		add("/receipts", receipts);
		for (const file of model) add(file.path, file.blob);
		const go = new Go();
		go.argv = ["attn", "verify", "-model", path, "/receipts"];
		let status = 0;
		go.exit = (code) => { status = code; };
		const { instance } = await WebAssembly.instantiateStreaming(fetch("attn.wasm"), go.importObject);
		await go.run(instance);
		postMessage({ status });
	} catch (err) {
		postMessage({ text: `${err}\n`, status: 1 });
	}
};
