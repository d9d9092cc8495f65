'use strict';
(() => {
  const data = JSON.parse(document.getElementById('data').textContent);
  const app = document.getElementById('app');
  const CHANGE = 0, UNSUPPORTED = 1, UNKNOWN = 2, PACKAGE = 3, CUDA = 4, AFFINITY = 5, PRECISION = 6, PERFORMANCE = 7, FAILURE = 9;
  const ROWS = 8;  // of a table that are shown before one asks for the others
  const CHUNK = 80;  // files, or blocks of a file, that are put into the page at once

  // [English, 中文]
  const words = {
    title: ['Migration to NPU', 'NPU 迁移报告'],
    noOutput: ['nothing written', '未写输出'],
    scanned: ['Files scanned', '扫描文件'], python: ['Python', 'Python'], touched: ['files changed', '个文件有改动'],
    made: ['Changes made', '已完成改动'], waiting: ['Changes for you to decide', '待确认改动'], notMade: ['not made', '未应用'],
    unsupported: ['Unsupported API uses', '不支持的 API'], packages: ['GPU-only packages', '依赖 GPU 的第三方库'],
    cuda: ['CUDA source', 'CUDA 源码'], failures: ['Could not be read', '无法读取'], on: ['on', '产品'],
    distinct: ['different', '种'],
    readiness: ['Readiness of files', '文件就绪情况'], ready: ['ready', '就绪'], attention: ['to look at', '待查看'], blocked: ['blocked', '受阻'],
    next: ['What to do next', '下一步'], show: ['show', '查看'], run: ['This run', '本次运行'],
    command: ['Command', '命令'], framework: ['Framework', '框架'], facts: ['Support as of', '支持情况依据'], product: ['Product', '产品'],
    least: ['Least confidence', '最低把握'], time: ['Read in', '用时'],
    notWork: ['What does not work', '不支持的内容'], api: ['API', 'API'], uses: ['Uses', '次数'], files: ['Files', '文件'], why: ['Why, and what instead', '原因与替代方案'],
    unknownApis: ['Support unknown', '支持情况未知'], packageTable: ['Third-party packages', '第三方库'], name: ['Name', '名称'], instead: ['Instead', '替代'],
    cudaTable: ['CUDA operators and sources', 'CUDA 算子与源码'], faster: ['Faster on NPU', 'NPU 亲和 API'],
    changes: ['Files and changes', '文件与改动'], search: ['Search path, API, rule or reason   ( / )', '搜索路径、API、规则或原因   ( / )'],
    allStates: ['made or not', '全部状态'], onlyMade: ['made', '已应用'], onlyLeft: ['not made', '未应用'],
    allFiles: ['all files', '全部文件'], byPath: ['by path', '按路径'], byOpen: ['most to do first', '待办多者在前'], byMade: ['most changes first', '改动多者在前'],
    open: ['open all', '全部展开'], close: ['close all', '全部收起'], reset: ['clear', '清除筛选'],
    shown: ['{f} files, {n} findings', '{f} 个文件，{n} 条'], none: ['Nothing matches.', '没有符合条件的内容。'], clean: ['Nothing found that needs a GPU.', '未发现依赖 GPU 的内容。'],
    line: ['line', '行'], failed: ['not migrated, copied as it is', '未迁移，原样复制'], noSource: ['', ''],
    yes: ['supported', '支持'], no: ['not supported', '不支持'], maybe: ['unknown', '未知'],
    light: ['Light', '浅色'], dark: ['Dark', '深色'], allLines: ['{n} more', '其余 {n} 项'],
    foot: ['Made by updraft migrate. This page holds everything it shows and loads nothing.', '由 updraft migrate 生成。本页自包含，不加载任何外部内容。'],
  };
  const categoryWords = [['changes', '改动'], ['unsupported', '不支持'], ['unknown', '未知'], ['packages', '第三方库'], ['CUDA source', 'CUDA 源码'],
    ['faster API', '亲和 API'], ['precision', '精度'], ['performance', '性能'], ['notes', '提示'], ['failures', '失败']];
  const categoryTone = ['accent', 'bad', 'warn', 'violet', 'violet', 'teal', 'warn', 'warn', '', 'bad'];
  const confidenceWords = [['needs review', '需确认'], ['likely', '很可能'], ['certain', '确定']];
  const confidenceTone = ['warn', 'accent', 'good'];
  const readyWords = ['ready', 'attention', 'blocked'], readyTone = ['good', 'warn', 'bad'];
  // members of a file and of a finding, as page_data.cpp writes them
  const PATH = 0, FLAGS = 2, READY = 3, MADE = 4, OPEN = 5, FINDINGS = 6;
  const RULE = 0, CAT = 1, CONF = 2, LINE = 3, API = 4, INSTEAD = 5, TEXT = 6, APPLIED = 7;

  const options = new URLSearchParams(location.hash.slice(1));
  const stored = key => { try { return localStorage.getItem('updraft-' + key); } catch { return null; } };
  const store = (key, value) => { try { localStorage.setItem('updraft-' + key, value); } catch { /* pages of files may not */ } };
  let lang = (options.get('lang') || stored('lang') || navigator.language || 'en').startsWith('zh') ? 1 : 0;
  let dark = (options.get('theme') || stored('theme') || (matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light')) === 'dark';
  const filter = { text: options.get('q') || '', cats: new Set(), confs: new Set(), state: '', ready: '', sort: 'path' };
  const opened = new Set();

  const t = key => words[key][lang];
  const number = n => n.toLocaleString(lang ? 'zh-CN' : 'en-US');
  const say = (key, values) => t(key).replace(/\{(\w+)\}/g, (_, name) => number(values[name]));

  /** el('div.a.b', {title: …, onclick: …}, children…): strings become text, never markup. */
  function el(spec, ...rest) {
    const [tag, ...classes] = spec.split('.');
    const node = document.createElement(tag);
    if (classes.length) node.className = classes.join(' ');
    for (const part of rest.flat(3)) {
      if (part === null || part === undefined || part === false) continue;
      if (typeof part === 'object' && !(part instanceof Node)) {
        for (const [key, value] of Object.entries(part)) {
          if (key.startsWith('on')) node.addEventListener(key.slice(2), value);
          else node.setAttribute(key, value);
        }
      } else {
        node.append(part);
      }
    }
    return node;
  }

  function bar(parts) {
    const total = parts.reduce((sum, [, n]) => sum + n, 0);
    return el('div.bar', parts.filter(([, n]) => n).map(([tone, n]) => {
      const piece = el('i.bg-' + tone);
      piece.style.width = 100 * n / total + '%';
      return piece;
    }));
  }
  const legend = parts => el('div.legend', parts.map(([tone, n, label]) => el('span', el('i.dot.bg-' + tone), el('b.num', number(n)), ' ' + label)));
  /** Names may break behind dots and underscores. */
  const breakable = name => name.split(/(?<=[._/])/).flatMap((part, i) => i ? [el('wbr'), part] : [part]);
  /** Text in which addresses are links, shown by their ends. */
  const linked = text => text.split(/(https:\/\/[\w\-./~%#?=&:+@]+)/).map((part, i) => i % 2
    ? el('a', { href: part, rel: 'noreferrer noopener', target: '_blank', title: part }, part.split('/')[2] + '/…/' + part.slice(part.lastIndexOf('/') + 1)) : part);
  const pill = (text, tone) => el('span.pill' + (tone ? '.' + tone : ''), text);

  // ---- the head of the page
  function header() {
    const r = data.request;
    const choose = (label, on, act) => el('button', { type: 'button', 'aria-pressed': on, onclick: act }, label);
    const setLang = value => () => { lang = value; store('lang', value ? 'zh' : 'en'); draw(); };
    const setDark = value => () => { dark = value; store('theme', value ? 'dark' : 'light'); draw(); };
    return el('header.top', el('div.logo', { 'aria-hidden': 'true' }),
      el('div.what', el('h1', t('title')), el('div.route.mono', shownPath(r.input || '.'), ' → ', r.output ? shownPath(r.output) : t('noOutput'))),
      el('div.tags', [r.framework && `${r.framework} ${r.version}`, r.product].filter(Boolean).map(x => el('span.tag', x))),
      el('div.switch', { role: 'group', 'aria-label': 'Language / 语言' }, choose('EN', lang === 0, setLang(0)), choose('中文', lang === 1, setLang(1))),
      el('div.switch', { role: 'group', 'aria-label': 'Theme / 主题' }, choose(t('light'), !dark, setDark(false)), choose(t('dark'), dark, setDark(true))));
  }
  /** Control characters and marks that turn text around, made visible. */
  const shownPath = path => path.replace(/[\u0000-\u001f\u007f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]/g,
    c => c === '\n' ? '\\n' : c === '\t' ? '\\t' : c === '\r' ? '\\r' : '\\u' + c.charCodeAt(0).toString(16).padStart(4, '0'));
  const bytes = n => n < 1e3 ? n + ' B' : n < 1e6 ? (n / 1e3).toFixed(1) + ' kB' : (n / 1e6).toFixed(1) + ' MB';

  function cards() {
    const s = data.summary, sum = list => list.reduce((a, b) => a + b, 0);
    const figure = (label, value, under, tone) => el('div.card.figure' + (tone && value ? '.' + tone : ''), el('div.label', label),
      el('div.value', number(value)), el('div.under', under || ''));
    const kinds = category => { const n = data.subjects.filter(x => x[1] === category).length; return n ? `${number(n)} ${t('distinct')}` : ''; };
    const confidences = counts => [2, 1, 0].map(i => [confidenceTone[i], counts[i], confidenceWords[i][lang]]);
    const made = figure(t('made'), sum(s.applied), '');
    made.lastChild.replaceWith(bar(confidences(s.applied)), legend(confidences(s.applied).filter(x => x[1])));
    const list = [figure(t('scanned'), s.seen, `${number(s.python)} ${t('python')} · ${number(s.changed)} ${t('touched')}`), made,
      figure(t('waiting'), sum(s.left), [2, 1, 0].filter(i => s.left[i]).map(i => `${number(s.left[i])} ${confidenceWords[i][lang]}`).join(' · '), 'warn'),
      figure(t('unsupported'), s.category[UNSUPPORTED], kinds(UNSUPPORTED), 'bad'),
      figure(t('packages'), s.category[PACKAGE], kinds(PACKAGE), 'bad')];
    if (s.category[CUDA]) list.push(figure(t('cuda'), s.category[CUDA], kinds(CUDA), 'bad'));
    if (s.category[FAILURE]) list.push(figure(t('failures'), s.category[FAILURE], '', 'bad'));
    return el('div.cards', list);
  }

  function next() {
    const tones = { [FAILURE]: 'bad', [PACKAGE]: 'bad', [CUDA]: 'bad', [UNSUPPORTED]: 'bad', [CHANGE]: 'warn', [UNKNOWN]: 'warn', [PRECISION]: 'warn' };
    return el('section.card', el('h2', t('next')), el('ol.steps', data.steps.map(([text, category, sites]) =>
      el('li' + (sites && tones[category] ? '.' + tones[category] : ''), el('span', data.texts[text][lang]),
        sites ? el('button.link', { type: 'button', onclick: () => only(category) }, t('show'), ' →') : ''))));
  }
  function only(category) {
    Object.assign(filter, { text: '', cats: new Set([category]), confs: new Set(), state: category === CHANGE ? 'left' : '', ready: '' });
    draw();
    document.getElementById('files').scrollIntoView();
  }

  function about() {
    const r = data.request, s = data.summary;
    const parts = readyWords.map((key, i) => [readyTone[i], s.ready[i], t(key)]);
    const rows = [['command', r.command], ['framework', `${r.framework} ${r.version}`.trim()], ['facts', r.facts], ['product', r.product],
      ['least', confidenceWords[['review', 'likely', 'certain'].indexOf(r.least)][lang]], ['time', `${s.seconds.toFixed(2)} s · ${bytes(s.bytes)}`]];
    return el('div', el('section.card.section', el('h2', t('readiness')), bar(parts), legend(parts)),
      el('section.card', el('h2', t('run')), el('dl.kv', rows.filter(x => x[1]).map(([key, value]) =>
        [el('dt', t(key)), el('dd' + (key === 'command' ? '.mono' : ''), shownPath(value))]))));
  }

  // ---- what does not work
  function table(title, category, columns, row) {
    const subjects = data.subjects.filter(x => x[1] === category);
    if (!subjects.length) return null;
    const body = el('tbody');
    const fill = (from, to) => subjects.slice(from, to).forEach(x => body.append(el('tr', row(x))));
    fill(0, ROWS);
    const rest = subjects.length - ROWS;
    const more = rest > 0 ? el('button.link', { type: 'button', onclick: () => { fill(ROWS); more.remove(); } }, say('allLines', { n: rest })) : null;
    return el('section.card.section', el('h2', title), el('div.scroll', el('table', el('thead', el('tr', columns)), body)), more);
  }
  function tables() {
    const th = (key, extra) => el('th' + (extra || ''), t(key));
    const name = x => el('td.word', el('span.mono', breakable(x[0])));
    const counts = x => [el('td.count', number(x[2])), el('td.count', number(x[3]))];
    const why = x => el('td.why', linked(data.texts[x[5]][lang]), x[4] && !data.texts[x[5]][lang].includes(x[4]) ? [' ', el('span.mono', '→ ' + x[4])] : '');
    const mark = state => { const key = ['maybe', 'no', 'yes'][state]; return el('td.mark', el('span.' + key, { title: t(key), 'aria-label': t(key) }, ['?', '✕', '✓'][state])); };
    const marks = x => data.products.map((_, i) => mark(x[6] ? x[6][i] : 0));
    const asked = () => data.products.map((p, i) => el('th.mark' + (p.includes(data.request.product) ? '.asked' : ''), { title: p[1] }, i === 3 && lang ? '训练系列' : p[0]));
    const known = data.request.framework === 'pytorch';
    const heads = () => [th('api'), known && asked(), th('uses', '.count'), th('files', '.count'), th('why', '.why')].filter(Boolean);
    const cells = x => [name(x), known && marks(x), counts(x), why(x)];
    return [table(t('notWork'), UNSUPPORTED, heads(), cells),
      table(t('packageTable'), PACKAGE, [th('name'), th('instead'), th('uses', '.count'), th('files', '.count'), th('why', '.why')],
        x => [name(x), el('td.word', x[4] ? el('span.mono', breakable(x[4])) : '–'), counts(x), el('td.why', linked(data.texts[x[5]][lang]))]),
      table(t('cudaTable'), CUDA, [th('name'), th('uses', '.count'), th('files', '.count'), th('why', '.why')], x => [name(x), counts(x), why(x)]),
      table(t('unknownApis'), UNKNOWN, heads(), cells),
      table(t('faster'), AFFINITY, [th('api'), th('instead'), th('uses', '.count'), th('files', '.count')],
        x => [name(x), el('td.word', el('span.mono', breakable(x[4]))), counts(x)])];
  }

  // ---- files
  const lower = { names: data.names.map(x => x.toLowerCase()), texts: data.texts.map(x => x.join(' ').toLowerCase()), paths: data.files.map(f => f[PATH].toLowerCase()) };
  function matching(index) {
    const text = filter.text.trim().toLowerCase(), file = data.files[index];
    const whole = !text || lower.paths[index].includes(text);
    const found = [];
    file[FINDINGS].forEach((f, i) => {
      if (filter.cats.size && !filter.cats.has(f[CAT])) return;
      if (filter.confs.size && !filter.confs.has(f[CONF])) return;
      if (filter.state && (filter.state === 'made') !== Boolean(f[APPLIED])) return;
      if (whole || lower.names[f[RULE]].includes(text) || lower.names[f[API]].includes(text) || lower.names[f[INSTEAD]].includes(text) ||
          lower.texts[f[TEXT]].includes(text)) found.push(i);
    });
    return found;
  }
  const filtering = () => filter.text || filter.cats.size || filter.confs.size || filter.state || filter.ready;

  function filters(refresh) {
    const chip = (label, count, set, value) => el('button.chip', { type: 'button', 'aria-pressed': set.has(value), onclick: event => {
      if (!set.delete(value)) set.add(value);
      event.currentTarget.setAttribute('aria-pressed', set.has(value));
      refresh();
    } }, label, count === null ? '' : el('span.num', number(count)));
    const select = (key, choices) => {
      const node = el('select', { 'aria-label': key, onchange: () => { filter[key] = node.value; refresh(); } },
        choices.map(([value, label]) => el('option', value === filter[key] ? { value, selected: '' } : { value }, label)));
      return node;
    };
    const search = el('input', { type: 'search', id: 'search', placeholder: t('search'), 'aria-label': t('search'), oninput: () => {
      clearTimeout(search.timer);
      search.timer = setTimeout(() => { filter.text = search.value; refresh(); }, 120);
    } });
    search.value = filter.text;
    const all = open => () => { shown.forEach(([i]) => open ? opened.add(i) : opened.delete(i)); refresh(); };
    return el('div.filters', el('div.row', search,
      select('ready', [['', t('allFiles')], ...readyWords.map((key, i) => [String(i), t(key)])]),
      select('state', [['', t('allStates')], ['made', t('onlyMade')], ['left', t('onlyLeft')]]),
      select('sort', [['path', t('byPath')], ['open', t('byOpen')], ['made', t('byMade')]])),
    el('div.row', data.summary.category.map((n, i) => n ? chip(categoryWords[i][lang], n, filter.cats, i) : null),
      el('span.soft', '·'), [2, 1, 0].map(i => chip(confidenceWords[i][lang], null, filter.confs, i)),
      el('button.link', { type: 'button', id: 'reset', onclick: () => {
        Object.assign(filter, { text: '', cats: new Set(), confs: new Set(), state: '', ready: '' });
        draw();
        document.getElementById('files').scrollIntoView();
      } }, t('reset')),
      el('span.status', { id: 'status', 'aria-live': 'polite' }),
      el('button.link', { type: 'button', id: 'open-all', onclick: all(true) }, t('open')),
      el('button.link', { type: 'button', id: 'close-all', onclick: all(false) }, t('close'))));
  }

  /** Puts items into a parent some at a time, as the reader comes near them. */
  const later = [];  // what printing has to finish
  function gradually(parent, items, make) {
    let at = 0;
    const end = el('div.more');
    const step = count => {
      const until = Math.min(items.length, at + count);
      const part = document.createDocumentFragment();
      for (; at < until; ++at) part.append(make(items[at]));
      end.before(part);
      if (at === items.length) { watch.disconnect(); end.remove(); }
    };
    const watch = new IntersectionObserver(seen => { if (seen.some(x => x.isIntersecting)) step(CHUNK); }, { rootMargin: '800px' });
    parent.append(end);
    step(CHUNK);
    if (end.isConnected || at < items.length) watch.observe(end);
    later.push(() => { if (at < items.length) step(items.length); });
  }

  function note(f, startLine) {
    const api = data.names[f[API]], instead = data.names[f[INSTEAD]];
    return el('div.note', el('div.head', f[CAT] === CHANGE ? '' : pill(categoryWords[f[CAT]][lang], categoryTone[f[CAT]]), pill(confidenceWords[f[CONF]][lang], confidenceTone[f[CONF]]),
      f[CAT] === CHANGE && !f[APPLIED] ? pill(t('notMade'), 'bad') : '', el('span.rule', data.names[f[RULE]]),
      startLine === f[LINE] ? '' : el('span.at', `${t('line')} ${f[LINE]}`)),
    el('div', linked(data.texts[f[TEXT]][lang])),
    api || instead ? el('div.names', api, instead ? [api ? ' → ' : '→ ', el('b', instead)] : '') : '');
  }

  /** Lines of one passage, numbered in both texts. */
  function linesOf([, oldLine, newLine, lines]) {
    let a = oldLine, b = newLine;
    return lines.map(([sign, ...pieces]) => el('div.ln' + (sign === '-' ? '.del' : sign === '+' ? '.add' : ''),
      el('span', sign === '+' ? '' : String(a++)), el('span', sign === '-' ? '' : String(b++)), el('span.sign', sign),
      el('code', pieces.map((piece, i) => i % 2 && piece ? el('mark', piece) : piece))));
  }

  /** A row is a passage with findings and what follows it up to the next one: long reasons leave no hole in the code. */
  function block(passages, findings, wanted) {
    const rows = [];
    for (const passage of passages) {
      const about = passage[4].filter(i => wanted.has(i)), lines = linesOf(passage);
      if (about.length || !rows.length) rows.push({ lines, notes: about.map(i => note(findings[i], passage[1])), rest: [] });
      else rows[rows.length - 1].rest.push(...lines);
    }
    const code = (kind, lines) => lines.length ? el('div.code.' + kind, { tabindex: '0' }, el('div.inner', lines)) : null;
    return el('div.block', rows.map(row => el('div.passage', code('about', row.lines),
      el('div.notes' + (row.notes.length ? '' : '.none'), row.notes), code('rest', row.rest))));
  }

  function body(index, found) {
    const file = data.files[index], wanted = new Set(found), holder = document.getElementById('x' + index);
    const blocks = JSON.parse(holder.textContent);
    const box = el('div.body');
    if (file[FLAGS] & 2) box.append(el('div.plainlist', pill(t('failed'), 'bad')));
    const inBlocks = blocks.flatMap(passages => passages.flatMap(p => p[4]));
    if (!inBlocks.length) {  // the source is not at hand: the findings alone
      const list = el('div.plainlist');
      gradually(list, found, i => note(file[FINDINGS][i]));
      box.append(list);
      return box;
    }
    const shownBlocks = filtering() ? blocks.filter(passages => passages.some(p => p[4].some(i => wanted.has(i)))) : blocks;
    gradually(box, shownBlocks, passages => block(passages, file[FINDINGS], wanted));
    return box;
  }

  function row([index, found]) {
    const file = data.files[index], counts = new Map();
    for (const i of found) counts.set(file[FINDINGS][i][CAT], (counts.get(file[FINDINGS][i][CAT]) || 0) + 1);
    const path = shownPath(file[PATH]), slash = path.lastIndexOf('/') + 1;
    const ready = file[READY];
    const node = el('details.file', { 'data-index': index }, el('summary',
      el('span.path', el('span.dir', path.slice(0, slash)), el('b', path.slice(slash))),
      el('span.counts', [...counts].sort((a, b) => a[0] - b[0]).map(([category, n]) => pill([categoryWords[category][lang], el('span.num', ' ' + number(n))], categoryTone[category]))),
      el('span.meter', { title: `${number(file[MADE])} ${t('onlyMade')}, ${number(file[OPEN])} ${t('attention')}` }, bar([['good', file[MADE]], [ready === 2 ? 'bad' : 'warn', file[OPEN]]])),
      el('span.ready', { title: t(readyWords[ready]) }, el('i.dot.bg-' + readyTone[ready]), el('em', t(readyWords[ready])))));
    const fill = () => { if (node.open && !node.children[1]) node.append(body(index, found)); };
    node.addEventListener('toggle', () => { if (node.open) opened.add(index); else opened.delete(index); fill(); });
    if (opened.has(index)) { node.open = true; fill(); }
    return node;
  }

  let shown = [];  // [index of a file, its findings that match]
  function files() {
    const list = el('div', { id: 'list' });
    const refresh = () => {
      shown = [];
      data.files.forEach((file, i) => {
        if (filter.ready && String(file[READY]) !== filter.ready) return;
        const found = matching(i);
        if (found.length || (!filtering() && file[FLAGS])) shown.push([i, found]);
      });
      const order = { path: null, open: OPEN, made: MADE }[filter.sort];
      if (order) shown.sort((a, b) => data.files[b[0]][order] - data.files[a[0]][order]);
      list.replaceChildren();
      later.length = 0;
      if (shown.length) gradually(list, shown, row);
      else list.append(el('div.empty', t(data.files.length ? 'none' : 'clean')));
      document.getElementById('status').textContent = say('shown', { f: shown.length, n: shown.reduce((sum, x) => sum + x[1].length, 0) });
    };
    return [el('section', { id: 'files' }, el('h2', t('changes')), filters(refresh), list), refresh];
  }

  function draw() {
    document.documentElement.lang = lang ? 'zh-CN' : 'en';
    document.documentElement.classList.toggle('dark', dark);
    const [section, refresh] = files();
    app.replaceChildren(header(), cards(), el('div.halves', next(), about()), ...tables().filter(Boolean), section, el('footer', t('foot')));
    refresh();
    document.title = `${t('title')} – ${data.request.input || 'updraft'}`;
  }

  addEventListener('keydown', event => {
    if (event.key !== '/' || /^(INPUT|SELECT|TEXTAREA)$/.test(document.activeElement.tagName)) return;
    event.preventDefault();
    document.getElementById('search').focus();
  });
  addEventListener('beforeprint', () => { while (later.length) later.shift()(); });
  for (const category of (options.get('category') || '').split(',').filter(Boolean)) filter.cats.add(data.categories.indexOf(category));
  if (options.get('open') || data.files.length <= 3) data.files.forEach((_, i) => { if (i < 50) opened.add(i); });
  draw();
})();
