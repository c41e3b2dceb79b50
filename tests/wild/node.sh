# SPDX-License-Identifier: MIT
# needs: node
cat > work.js <<'J'
const http = require('http'), crypto = require('crypto'), zlib = require('zlib');
const { Worker, isMainThread, parentPort } = require('worker_threads');
if (!isMainThread) {
    let s = 0;
    for (let i = 0; i < 2e6; i++) s = (s + i * i) % 1000003;
    parentPort.postMessage(s);
} else {
    const o = {};
    for (let i = 0; i < 50000; i++) o['k' + i] = { i, s: 'x'.repeat(i % 17) };
    console.log('json', JSON.stringify(o).length);
    console.log('hash', crypto.createHash('sha256').update('a'.repeat(1e6)).digest('hex'));
    console.log('zlib', zlib.inflateSync(zlib.deflateSync(Buffer.alloc(300000, 'abc'))).length);
    const server = http.createServer((q, r) => r.end('you asked for ' + q.url));
    server.listen(0, () => http.get({ port: server.address().port, path: '/page' }, r => {
        let body = '';
        r.on('data', d => body += d);
        r.on('end', () => {
            console.log('http', body);
            server.close();
            let left = 3, sum = 0;
            for (let i = 0; i < 3; i++)
                new Worker(__filename).on('message', s => { sum += s; if (!--left) console.log('workers', sum); });
        });
    }));
}
J
$RUN node work.js
