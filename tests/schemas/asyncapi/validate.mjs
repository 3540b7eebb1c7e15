// Prints every error the AsyncAPI parser finds in the document named on the command line; exits 1 when there is one.
import { readFileSync } from "node:fs";
import { Parser } from "@asyncapi/parser";

const { document, diagnostics } = await new Parser().parse(readFileSync(process.argv[2], "utf8"));
const errors = diagnostics.filter((diagnostic) => diagnostic.severity === 0);
for (const error of errors) console.log(`${error.path.join(".")}: ${error.message}`);
if (!errors.length && document) console.log(`valid: ${document.channels().all().length} channels`);
process.exit(errors.length || !document ? 1 : 0);
