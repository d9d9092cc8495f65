#include "migrate/rewrite/distributed/conversion.h"

#include <algorithm>
#include <array>

#include "base/error.h"
#include "migrate/rewrite/distributed/program.h"
#include "migrate/rewrite/strings.h"
#include "migrate/rules/rule.h"

namespace updraft::migrate::rewrite::distributed {
namespace {

std::size_t line_start(std::string_view text, std::size_t at) {
  const std::size_t found = at == 0 ? std::string_view::npos : text.rfind('\n', at - 1);
  return found == std::string_view::npos ? 0 : found + 1;
}

std::string joined(const Lines& lines, const std::string& separator) {
  std::string all;
  for (const std::string& line : lines) all += (all.empty() ? "" : separator) + line;
  return all;
}

/// Lines as statements on one line: without comments.
std::string flat(const Lines& lines) {
  std::string all;
  for (const std::string& line : lines)
    if (!line.starts_with('#')) all += (all.empty() ? "" : "; ") + line;
  return all;
}

std::uint32_t u32(std::size_t n) { return static_cast<std::uint32_t>(n); }

}  // namespace

std::string newline(std::string_view text) { return text.find("\r\n") != std::string_view::npos ? "\r\n" : "\n"; }

std::string indent(const syntax::Tree& tree, NodeId node) {
  const std::string_view text = tree.text();
  const std::size_t start = line_start(text, tree[node].begin);
  std::size_t stop = start;
  while (stop < tree[node].begin && (text[stop] == ' ' || text[stop] == '\t')) ++stop;
  return std::string(text.substr(start, stop - start));
}

std::string unit(const syntax::Tree& tree) {
  for (NodeId id = 0; id < tree.size(); ++id) {
    if (tree.kind(id) != Kind::Block || tree[id].first == kNone) continue;
    const NodeId first = tree.child(id, std::size_t{0});
    if (first == kNone || !alone(tree, first)) continue;
    const std::string inner = indent(tree, first), outer = indent(tree, tree.parent(id));
    if (inner.size() > outer.size() && inner.starts_with(outer)) return inner.substr(outer.size());
  }
  return "    ";
}

bool alone(const syntax::Tree& tree, NodeId statement) {
  const std::string_view text = tree.text();
  for (std::size_t at = tree[statement].begin; at > 0 && text[at - 1] != '\n'; --at)
    if (text[at - 1] != ' ' && text[at - 1] != '\t' && static_cast<unsigned char>(text[at - 1]) < 0x80) return false;
  std::size_t at = tree[statement].end;
  while (at < text.size() && (text[at] == ' ' || text[at] == '\t' || text[at] == '\r')) ++at;
  return at >= text.size() || text[at] == '\n' || text[at] == '#';
}

Edit before(const syntax::Tree& tree, NodeId statement, const Lines& lines) {
  const std::uint32_t at = tree[statement].begin;
  if (!alone(tree, statement)) return {at, at, flat(lines) + "; "};
  const std::string next = newline(tree.text()) + indent(tree, statement);
  return {at, at, joined(lines, next) + next};
}

Edit after(const syntax::Tree& tree, NodeId statement, const Lines& lines) {
  const std::string_view text = tree.text();
  std::size_t at = tree[statement].end;
  if (!alone(tree, statement)) {
    // a; b: the line's other statements follow ours
    return {u32(at), u32(at), "; " + flat(lines)};
  }
  const std::string margin = indent(tree, statement), next = newline(text) + margin;
  const std::size_t stop = text.find('\n', at);
  if (stop == std::string_view::npos) return {u32(text.size()), u32(text.size()), next + joined(lines, next)};
  return {u32(stop + 1), u32(stop + 1), margin + joined(lines, next) + newline(text)};
}

Edit at_start(const syntax::Tree& tree, NodeId block, const Lines& lines) {
  NodeId chosen = kNone;
  for (NodeId s : tree.children(block)) {
    chosen = s;
    if (!is_literal_statement(tree, s)) return before(tree, s, lines);
  }
  if (chosen == kNone) return {tree[block].end, tree[block].end, ""};  // broken syntax: an empty block
  return after(tree, chosen, lines);
}

NodeId last_of(const syntax::Tree& tree, NodeId block) {
  NodeId last = kNone;
  for (NodeId s : tree.children(block)) last = s;
  return last;
}

std::vector<Edit> under(const syntax::Tree& tree, const std::vector<NodeId>& statements, const std::string& condition) {
  std::vector<Edit> edits;
  const NodeId first = statements.front();
  const std::uint32_t at = tree[first].begin;
  if (!alone(tree, first)) {
    // if best: torch.save(…)
    for (NodeId s : statements) edits.push_back({tree[s].begin, tree[s].begin, condition + " and "});
    return edits;
  }
  const std::string step = unit(tree);
  edits.push_back({at, at, "if " + condition + ":" + newline(tree.text()) + indent(tree, first) + step});
  for (std::size_t n = 1; n < statements.size(); ++n)
    edits.push_back({tree[statements[n]].begin, tree[statements[n]].begin, step});
  // the lines of a block stand deeper; those of a string stay as they are
  for (NodeId s : statements) {
    if (tree.kind(s) == Kind::ExpressionStatement) continue;
    const std::string_view text = tree.text();
    std::vector<NodeId> strings;
    for (NodeId n = s; n < tree[s].last; ++n)
      if (tree.kind(n) == Kind::String) strings.push_back(n);
    for (std::size_t line = text.find('\n', tree[s].begin); line != std::string_view::npos && line < tree[s].end;
         line = text.find('\n', line + 1)) {
      const auto start = u32(line + 1);
      const bool blank = start >= text.size() || text[start] == '\n' || text[start] == '\r';
      const bool within = std::any_of(strings.begin(), strings.end(),
                                      [&](NodeId n) { return tree[n].begin < start && start <= tree[n].end; });
      if (!blank && !within && start < tree[s].end) edits.push_back({start, start, step});
    }
  }
  return edits;
}

Edit remove(const syntax::Tree& tree, NodeId statement) {
  std::size_t n = 0;
  for ([[maybe_unused]] NodeId s : tree.children(tree.parent(statement))) ++n;
  if (n == 1 || !alone(tree, statement)) return {tree[statement].begin, tree[statement].end, "pass"};
  const std::string_view text = tree.text();
  const std::size_t stop = text.find('\n', tree[statement].end);
  return {u32(line_start(text, tree[statement].begin)), u32(stop == std::string_view::npos ? text.size() : stop + 1),
          ""};
}

Edit keyword(const syntax::Tree& tree, NodeId call, const std::string& text) {
  const NodeId list = tree.child(call, Field::Arguments);
  const NodeId last = last_of(tree, list);
  if (last == kNone) return {tree[list].end - 1, tree[list].end - 1, text};
  return {tree[last].end, tree[last].end, ", " + text};
}

Argument argument(const syntax::Tree& tree, NodeId call, std::string_view name, int position) {
  Argument a;
  int n = 0;
  for (NodeId c : tree.children(tree.child(call, Field::Arguments))) {
    switch (tree.kind(c)) {
      case Kind::ListSplat:
        a.hidden = a.hidden || position >= n;
        n = -1000;
        break;
      case Kind::DictionarySplat: a.hidden = true; break;
      case Kind::KeywordArgument:
        if (tree.text(tree.child(c, Field::Name)) == name) return {c, tree.child(c, Field::Value), false};
        break;
      default:
        if (n++ == position && position >= 0) return {c, c, false};
    }
  }
  return a;
}

}  // namespace updraft::migrate::rewrite::distributed

namespace updraft::migrate::rewrite {
namespace {

using distributed::Source;

/// import os, import torch: before the file's first import that may stand first.
void import(Source& s) {
  if (s.imports.empty()) return;
  const syntax::Tree& tree = s.tree();
  distributed::Lines lines;
  for (const std::string& module : s.imports) lines.push_back("import " + module);
  NodeId first = kNone, future = kNone;
  for (NodeId statement : tree.children(0)) {
    const Kind kind = tree.kind(statement);
    if (kind == Kind::FutureImport) future = statement;
    if ((kind == Kind::Import || kind == Kind::ImportFrom) && first == kNone) first = statement;
  }
  Finding& f = s.add("PT351", Category::Change, 0, rules::told("PT351.modules"));
  if (first != kNone) f.edits.push_back(distributed::before(tree, first, lines));
  else if (future != kNone) f.edits.push_back(distributed::after(tree, future, lines));
  else f.edits.push_back(distributed::at_start(tree, 0, lines));
}

Finding note(Source& s, Text text, std::string api = {}) {
  Finding f;
  f.rule = "PT357";
  f.category = Category::Note;
  f.from = f.to = s.tree().position(0);
  f.api = std::move(api);
  f.message = std::move(text);
  return f;
}

}  // namespace

Conversion::Conversion(const names::Project& project, const names::Project::Reader& read, DistributedOptions options)
    : options_(std::move(options)) {
  if (options_.model.empty()) options_.model = "model";
  distributed::Program program(project, read, options_.main_file);
  Source& main = program.main();
  if (main.text.empty())
    throw Error(
        code::kAclInvalidParam,
        "-m {}: this entry file is empty, or cannot be read; wanted: the training script, relative to the input",
        options_.main_file);
  const auto refuse = [&](Text text, std::string api) {
    files_[main.path].findings.push_back(note(main, std::move(text), std::move(api)));
  };
  if (const auto already = distributed::distributed_already(program)) {
    const Source& s = *already->where.source;
    const std::string where =
        s.path + ":" + std::to_string(s.tree().position(s.tree()[already->where.node].begin).line);
    refuse(rules::told("PT357.already", {already->api, where}), already->api);
    return;
  }
  const std::vector<distributed::Model> models = distributed::models(program, options_.model);
  if (models.empty()) {
    refuse(rules::told("PT357.no_model", {options_.model, main.path}), {});
    return;
  }
  const distributed::Entry entry = distributed::entry(program, models);
  if (entry.block == kNone) {
    refuse(rules::told("PT357.names", {main.path}), {});
    return;
  }
  for (const distributed::Model& m : models) distributed::wrap(program, m);
  distributed::loaders(program);
  distributed::outputs(program, models, entry.ready);
  converted_ = true;
  for (const auto& s : program.sources()) {
    File& file = files_[s->path];
    file.torch = s->name_of("torch", 0);
    s->imports.erase("");
    if (std::none_of(s->findings.begin(), s->findings.end(), [](const Finding& f) { return !f.edits.empty(); }))
      s->imports.clear();
    import(*s);
    if (s.get() == &main) {
      file.local_rank = entry.local_rank;
      file.ranked_at = entry.ready;
    }
    file.findings = std::move(s->findings);
  }
}

}  // namespace updraft::migrate::rewrite

// Scripts that need no conversion.
namespace updraft::migrate::rewrite::distributed {
namespace {

constexpr std::array<std::string_view, 12> kLast = {"init_process_group",
                                                    "DistributedDataParallel",
                                                    "DistributedSampler",
                                                    "FullyShardedDataParallel",
                                                    "fully_shard",
                                                    "Accelerator",
                                                    "initialize",
                                                    "Trainer",
                                                    "Seq2SeqTrainer",
                                                    "init",
                                                    "spawn",
                                                    "Fabric"};

/// SFTTrainer, EpochBasedRunner, Learner …
bool trainer(std::string_view name) noexcept {
  return name.ends_with("Trainer") || name.ends_with("Runner") || name.ends_with("Learner");
}

bool is_distributed(std::string_view api) noexcept {
  static constexpr std::array<std::string_view, 19> known = {"torch.distributed.init_process_group",
                                                             "torch.distributed.distributed_c10d.init_process_group",
                                                             "torch.nn.parallel.DistributedDataParallel",
                                                             "torch.nn.parallel.distributed.DistributedDataParallel",
                                                             "apex.parallel.DistributedDataParallel",
                                                             "torch.utils.data.distributed.DistributedSampler",
                                                             "torch.utils.data.DistributedSampler",
                                                             "torch.distributed.fsdp.FullyShardedDataParallel",
                                                             "torch.distributed.fsdp.fully_shard",
                                                             "accelerate.Accelerator",
                                                             "deepspeed.initialize",
                                                             "pytorch_lightning.Trainer",
                                                             "lightning.Trainer",
                                                             "lightning.pytorch.Trainer",
                                                             "lightning.fabric.Fabric",
                                                             "transformers.Trainer",
                                                             "transformers.Seq2SeqTrainer",
                                                             "horovod.torch.init",
                                                             "torch.multiprocessing.spawn"};
  if (std::find(known.begin(), known.end(), api) != known.end()) return true;
  // libraries whose trainers start and join the processes themselves
  const std::string_view last = api.substr(api.rfind('.') + 1);
  if (!trainer(last)) return false;
  for (std::string_view library :
       {"transformers", "trl", "pytorch_lightning", "lightning", "composer", "mmengine", "mmcv", "fastai",
        "sentence_transformers", "torchtune", "setfit", "colossalai", "accelerate"})
    if (rules::under(api, library)) return true;
  return false;
}

}  // namespace

std::optional<Distributed> distributed_already(const Program& program) {
  for (const auto& s : program.sources())
    for (NodeId call : s->calls) {
      const NodeId callee = s->tree().child(call, Field::Function);
      const bool attribute = s->tree().kind(callee) == Kind::Attribute;
      if (const std::string_view last = s->text_of(s->tree().child(callee, Field::Attribute));
          attribute && std::find(kLast.begin(), kLast.end(), last) == kLast.end() && !trainer(last))
        continue;
      const std::string api = s->callee(call);
      if (is_distributed(api)) return Distributed{{s.get(), call}, api};
      // class MyTrainer(transformers.Trainer)
      const Value v = s->module->value(callee);
      std::string base;
      if (v.own && v.what == What::Class && program.project().derives(v.name, [&](std::string_view name) {
            if (!is_distributed(name)) return false;
            base = name;
            return true;
          }))
        return Distributed{{s.get(), call}, base};
    }
  return std::nullopt;
}

bool trains(const Program& program, const Source& s, NodeId loop, int depth) {
  const syntax::Tree& tree = s.tree();
  for (NodeId id = loop; id < tree[loop].last; ++id) {
    if (tree.kind(id) != Kind::Call) continue;
    const NodeId callee = tree.child(id, Field::Function);
    if (tree.kind(callee) == Kind::Attribute && tree.text(tree.child(callee, Field::Attribute)) == "backward")
      return true;
    if (depth >= 4) continue;
    const Place other = program.definition(program.callee(s, id));
    if (other.source && !(other.source == &s && tree.inside(loop, other.node)) &&
        trains(program, *other.source, other.node, depth + 1))
      return true;
  }
  return false;
}

}  // namespace updraft::migrate::rewrite::distributed

// DataParallel where nobody asked for the conversion to several processes: what would take its place, for review. It
// needs a process group, samplers and a launcher besides, so it is never done alone.
namespace updraft::migrate::rewrite {
namespace {

const rules::Rule& the_rule() { return rules::coded("PT320"); }

bool is_data_parallel(std::string_view name) noexcept {
  return name == "torch.nn.DataParallel" || name == "torch.nn.parallel.DataParallel" ||
         name == "torch.nn.parallel.data_parallel.DataParallel";
}

}  // namespace

void data_parallel(Sites& s) {
  const syntax::Tree& tree = s.tree();
  // resolving every name that is called would read most of the project's files
  if (tree.text().find("DataParallel") == std::string_view::npos) return;
  for (NodeId call = 0; call < tree.size(); ++call) {
    if (tree.kind(call) != Kind::Call) continue;
    const NodeId callee = tree.child(call, Field::Function);
    const bool attribute = tree.kind(callee) == Kind::Attribute;
    if (!attribute && tree.kind(callee) != Kind::Identifier) continue;
    if (attribute && tree.text(tree.child(callee, Field::Attribute)) != "DataParallel") continue;
    if (!attribute && !s.module.scopes().lookup(tree.text(callee), s.module.scopes().of(callee))) continue;
    const Value v = s.module.local(callee);
    if (v.what != What::Api || !is_data_parallel(v.name) || s.kept(call)) continue;
    s.claims.take(callee);
    Finding& f = s.add(the_rule(), call, Confidence::Review, v.name);
    NodeId module = kNone, last = kNone;
    bool stars = false;
    for (NodeId a : tree.children(tree.child(call, Field::Arguments))) {
      const Kind kind = tree.kind(a);
      stars = stars || kind == Kind::ListSplat || kind == Kind::DictionarySplat;
      const bool keyword = kind == Kind::KeywordArgument;
      if (module == kNone && (!keyword || tree.text(tree.child(a, Field::Name)) == "module")) module = a;
      last = a;
    }
    if (module == kNone || stars) continue;
    if (attribute) {  // nn.DataParallel becomes nn.parallel.DistributedDataParallel
      f.edits.push_back(s.replace(tree.child(callee, Field::Attribute), v.name == "torch.nn.DataParallel"
                                                                            ? "parallel.DistributedDataParallel"
                                                                            : "DistributedDataParallel"));
    } else {  // an imported name becomes the whole path
      const auto* torch = s.module.scopes().lookup("torch", s.module.scopes().of(call));
      if (!torch || torch->front().module != "torch") continue;
      f.edits.push_back(s.replace(callee, "torch.nn.parallel.DistributedDataParallel"));
    }
    const bool first = module == tree.child(tree.child(call, Field::Arguments), std::size_t{0});
    if (!first) {  // DataParallel(device_ids=…, module=m)
      f.edits.clear();
      continue;
    }
    f.edits.push_back({tree[module].end, tree[last].end, ", device_ids=[torch_npu.npu.current_device()]"});
  }
}

// run_distributed_npu.sh: starts a converted script by torchrun.

namespace {

/// As one word of the shell.
std::string quoted(const std::string& word) {
  std::string text = "'";
  for (char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

constexpr const char* kScript = R"sh(#!/bin/bash
# Trains on the NPUs of this host, one process each.
#
#   bash run_distributed_npu.sh [arguments of the script]
#
# NPROC_PER_NODE            processes; else one for each card of ASCEND_RT_VISIBLE_DEVICES, else for each of the host
# MASTER_ADDR, MASTER_PORT  where the processes meet (127.0.0.1, 29500)
# NNODES, NODE_RANK         of several hosts; then MASTER_ADDR is the first host's
# BIND_CORES=1              binds each process to cores near its card (torch_npu's CPU_AFFINITY_CONF)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

count_cards() {
    if [ -n "${ASCEND_RT_VISIBLE_DEVICES:-}" ]; then
        echo "$ASCEND_RT_VISIBLE_DEVICES" | tr ',' '\n' | awk -F- '
            NF == 2 { n += $2 - $1 + 1 }
            NF == 1 && $1 != "" { n += 1 }
            END { print n + 0 }'
    elif command -v npu-smi > /dev/null; then
        { npu-smi info -l || true; } |
            awk -F: '/Chip Count/ { n += $2 } /Total Count/ { total = $2 } END { print (n ? n : total) + 0 }'
    else
        echo 0
    fi
}

processes="${NPROC_PER_NODE:-$(count_cards)}"
if [ "$processes" -lt 1 ]; then
    echo "run_distributed_npu.sh: no NPU was found by npu-smi info -l; set NPROC_PER_NODE to the number of processes" >&2
    exit 1
fi
if [ "${BIND_CORES:-0}" = 1 ]; then
    export CPU_AFFINITY_CONF="${CPU_AFFINITY_CONF:-1}"
fi
exec torchrun --nnodes "${NNODES:-1}" --node_rank "${NODE_RANK:-0}" --nproc_per_node "$processes" \
    --master_addr "${MASTER_ADDR:-127.0.0.1}" --master_port "${MASTER_PORT:-29500}" \
    )sh";

}  // namespace

std::string distributed_launcher(const std::string& main_file) { return kScript + quoted(main_file) + " \"$@\"\n"; }

}  // namespace updraft::migrate::rewrite
