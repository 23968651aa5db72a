#!/usr/bin/env node
// Stands in for yajsv, the validator that CLICS' check-api.sh calls, where that is not installed:
//   validate.js -q -s SCHEMA -r 'DIRECTORY/*.json' DATA
// Prints what is wrong; exit code 1 if something is, 4 if it was called wrongly.
"use strict";
const fs = require("node:fs");
const path = require("node:path");
const Ajv = require("ajv/dist/2020");

const words = process.argv.slice(2);
const after = (name) => words[words.indexOf(name) + 1];
const [schema, references, data] = [after("-s"), after("-r"), words.at(-1)];
if (!schema || !references || !data) {
  console.error("usage: validate.js -q -s SCHEMA -r 'DIRECTORY/*.json' DATA");
  process.exit(4);
}

const read = (file) => JSON.parse(fs.readFileSync(file, "utf8"));
// Run times are multiples of 0.001, which no binary fraction is.
const ajv = new Ajv({ strict: false, allErrors: false, multipleOfPrecision: 6 });
const folder = path.dirname(references);
for (const name of fs.readdirSync(folder).filter((name) => name.endsWith(".json"))) {
  ajv.addSchema(read(path.join(folder, name)));
}
let value;
try {
  value = read(data);
} catch (error) {
  console.log(`${data}: not JSON: ${error.message}`);
  process.exit(1);
}
const check = ajv.getSchema(read(schema).$id);
if (!check(value)) {
  for (const error of check.errors.slice(0, 5)) {
    console.log(`${data}: ${error.instancePath || "/"}: ${error.message} ${JSON.stringify(error.params)}`);
  }
  process.exit(1);
}
