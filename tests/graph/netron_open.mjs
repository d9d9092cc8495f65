// Opens an om file with Netron's parser and prints what it shows.   node netron_open.mjs FOLDER-OF-NETRON FILE
import * as fs from 'node:fs';
import * as path from 'node:path';
import { pathToFileURL } from 'node:url';

const [folder, file] = process.argv.slice(2);
const load = (name) => import(pathToFileURL(path.join(folder, name)));
const om = await load('om.js');
const { FileStream } = await load('node.js');

const types = new Map(JSON.parse(fs.readFileSync(path.join(folder, 'om-metadata.json'), 'utf-8')).map((type) => [type.name, type]));
const stat = fs.statSync(file);
const context = {
    stream: new FileStream(file, 0, stat.size, stat.mtimeMs),
    set(type, value) { this.value = value; return type; },
    require: (name) => load(`${name.replace('./', '')}.js`),
    metadata: async () => ({ type: (name) => types.get(name) || null })
};
const factory = new om.ModelFactory();
if (await factory.match(context) !== 'om') {
    throw new Error('Netron does not take the file for an om');
}
const model = await factory.open(context);
const nodes = [];
const weights = new Map();
for (const graph of model.modules) {
    for (const node of graph.nodes) {
        nodes.push({ name: node.name, type: node.type.name });
        for (const argument of node.inputs) {
            for (const value of argument.value) {
                if (value.initializer) {
                    weights.set(value.name, { name: value.name, bytes: value.initializer.values.length });
                }
            }
        }
    }
}
process.stdout.write(JSON.stringify({ format: model.format, nodes, weights: [...weights.values()] }));
