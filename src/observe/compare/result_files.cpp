#include "observe/compare/result_files.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/error.h"
#include "base/wall_clock.h"

namespace updraft::compare {
namespace {

/// Below that a tensor counts as wrong for -advisor.
constexpr double kGoodCosine = 0.99;

const Cell* cell(const Comparison& of, const Line& line, Measure measure) {
  const auto& chosen = of.options().measures;
  const auto found = std::ranges::find(chosen, measure);
  if (found == chosen.end()) return nullptr;
  const auto at = static_cast<size_t>(found - chosen.begin());
  return at < line.cells.size() ? &line.cells[at] : nullptr;
}

std::string row(const std::vector<std::string>& cells) {
  std::string text;
  for (size_t i = 0; i < cells.size(); ++i) text += (i ? "," : "") + csv_cell(cells[i]);
  return text + "\r\n";
}

std::string escaped(const std::string& text) {
  std::string made;
  for (char c : text) switch (c) {
      case '&': made += "&amp;"; break;
      case '<': made += "&lt;"; break;
      case '>': made += "&gt;"; break;
      case '"': made += "&quot;"; break;
      default: made += c;
    }
  return made;
}

std::vector<std::string> columns(const Comparison& of) {
  std::vector<std::string> names = {"Index"};
  if (of.has_sequence()) names.push_back("OpSequence");
  names.insert(names.end(), {"OpType", "NPUDump", "DataType"});
  if (of.mine_is_npu()) names.push_back("Address");
  names.insert(names.end(), {"GroundTruth", "DataType"});
  if (of.golden_is_npu()) names.push_back("Address");
  names.insert(names.end(), {"TensorIndex", "Shape"});
  if (of.options().overflow) names.push_back("OverFlow");
  for (const std::string& measure : of.options().measure_names()) names.push_back(measure);
  names.push_back("CompareFailReason");
  return names;
}

std::vector<std::string> cells_of(const Comparison& of, const Line& line) {
  std::vector<std::string> cells = {std::to_string(line.index)};
  if (of.has_sequence()) cells.push_back(std::to_string(line.sequence));
  cells.insert(cells.end(), {line.type, line.mine, line.mine_type});
  if (of.mine_is_npu()) cells.push_back(line.mine_address);
  cells.insert(cells.end(), {line.golden, line.golden_type});
  if (of.golden_is_npu()) cells.push_back(line.golden_address);
  cells.insert(cells.end(), {line.tensor, line.shape});
  if (of.options().overflow) cells.push_back(line.overflow);
  for (const Cell& one : line.cells) cells.push_back(one.text);
  cells.push_back(line.reason);
  return cells;
}

constexpr const char* kStyle = R"(<style>
body{font:14px/1.5 system-ui,sans-serif;margin:2em auto;max-width:1500px;padding:0 1em;color:#1a1a1a;background:#fff}
h1{font-size:1.5em}h2{font-size:1.15em;margin-top:1.6em}
.first{border-left:5px solid #c0392b;background:#fdf0ee;padding:.7em 1em}.none{border-left:5px solid #27803b;background:#eef8f0;padding:.7em 1em}
table{border-collapse:collapse;font-size:12px;width:100%}th,td{border:1px solid #ddd;padding:3px 7px;text-align:left;vertical-align:top}
th{background:#f3f3f3;position:sticky;top:0;cursor:pointer}tr.bad td{background:#fdf0ee}tr.gap td{color:#888}
td.n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}code{background:#f3f3f3;padding:0 3px}
#filter{padding:4px 8px;width:24em}label{margin-left:1em}.wide{overflow-x:auto}
@media (prefers-color-scheme:dark){body{color:#ddd;background:#181818}th,code{background:#262626}th,td{border-color:#3a3a3a}
.first,tr.bad td{background:#3a2320}.none{background:#1f3324}}
</style>)";

constexpr const char* kScript = R"(<script>
const rows=[...document.querySelectorAll('tbody tr')],f=document.getElementById('filter'),b=document.getElementById('bad');
function show(){const t=f.value.toLowerCase();for(const r of rows)r.hidden=(b.checked&&!r.classList.contains('bad'))||!r.textContent.toLowerCase().includes(t)}
f.oninput=b.onchange=show;
document.querySelectorAll('th').forEach((h,i)=>h.onclick=()=>{const up=h.dataset.up=h.dataset.up==='1'?'0':'1';
const v=r=>{const x=r.children[i].textContent,n=parseFloat(x);return isNaN(n)?x:n};
rows.sort((p,q)=>{const a=v(p),c=v(q);return (typeof a===typeof c?(a<c?-1:a>c?1:0):typeof a==='number'?-1:1)*(up==='1'?1:-1)});
rows.forEach(r=>r.parentNode.append(r))});
</script>)";

}  // namespace

std::string result_stem() { return "result_" + wall_clock("%Y%m%d%H%M%S").text; }

std::string csv_cell(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string made = "\"";
  for (char c : text) made += c == '"' ? std::string("\"\"") : std::string(1, c);
  return made + "\"";
}

std::string result_csv(const Comparison& of, const std::vector<Line>& lines) {
  std::string text = row(columns(of));
  for (const Line& line : lines) text += row(cells_of(of, line));
  return text;
}

std::string mapping_csv(const Comparison& of, const std::vector<Line>& lines) {
  std::vector<std::string> head = {"Index"};
  if (of.has_sequence()) head.push_back("OpSequence");
  head.insert(head.end(), {"OpType", "NPUDump", "GroundTruth", "TensorIndex", "NPUDumpPath", "GroundTruthPath"});
  std::string text = row(head);
  for (const Line& line : lines) {
    std::vector<std::string> cells = {std::to_string(line.index)};
    if (of.has_sequence()) cells.push_back(std::to_string(line.sequence));
    cells.insert(cells.end(),
                 {line.type, line.mine, line.golden, line.tensor, line.mine_path.empty() ? "NaN" : line.mine_path,
                  line.golden_path.empty() ? "NaN" : line.golden_path});
    text += row(cells);
  }
  return text;
}

bool differs(const Comparison& of, const Line& line, double threshold) {
  const Cell* cosine = cell(of, line, kCosineSimilarity);
  const Cell* distance = cell(of, line, kRelativeEuclideanDistance);
  if (line.tensor == "NaN" || line.cells.empty()) return false;
  if (cosine && !std::isnan(cosine->value) && cosine->reason.empty()) return cosine->value < threshold;
  if (distance && !std::isnan(distance->value)) return distance->value > 1 - threshold;
  // One side is all zero, or has NaN, where the other has not.
  return cosine && (cosine->text == "nan" || !cosine->reason.empty()) && !line.mine_path.empty() &&
         !line.golden_path.empty() && std::isnan(cosine->value);
}

std::optional<Divergence> first_divergence(const Comparison& of, const std::vector<Line>& lines, double threshold) {
  std::optional<Divergence> first;
  for (size_t i = 0; i < lines.size();) {
    size_t end = i;
    bool inputs = true, seen = false;
    std::optional<size_t> output;
    for (; end < lines.size() && lines[end].mine == lines[i].mine && lines[end].index == lines[i].index; ++end) {
      const bool bad = differs(of, lines[end], threshold);
      if (!lines[end].is_output) {
        seen = seen || lines[end].tensor != "NaN";
        inputs = inputs && !bad;
      } else if (bad && !output) {
        output = end;
      }
    }
    if (output && inputs && seen) return Divergence{*output, true};
    if (output && !first) first = Divergence{*output, false};
    i = std::max(end, i + 1);
  }
  return first;
}

std::string result_page(const Comparison& of, const std::vector<Line>& lines, double threshold) {
  size_t compared = 0, bad = 0, gaps = 0;
  for (const Line& line : lines) {
    const bool has = !line.cells.empty() && line.tensor != "NaN" && !line.golden_path.empty();
    compared += has;
    gaps += !has;
    bad += differs(of, line, threshold);
  }
  std::string page = "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Comparison</title>";
  page += kStyle;
  page += "</head><body><h1>Comparison of tensors</h1>\n";
  page += fmt::format("<p>mine <code>{}</code><br>golden <code>{}</code></p>\n", escaped(of.options().mine),
                      escaped(of.options().golden));
  for (const std::string& note : of.notes()) page += fmt::format("<p>{}</p>\n", escaped(note));
  if (const auto first = first_divergence(of, lines, threshold)) {
    const Line& line = lines[first->line];
    page += fmt::format("<div class=\"first\"><b>First divergence: {}</b> ({}), {} of shape {}", escaped(line.mine),
                        escaped(line.type), escaped(line.tensor), escaped(line.shape));
    page += first->inputs_agree ? ". What it reads agrees: look at this operator."
                                : ". Its inputs differ already, or are not in the dump: look at what makes them.";
    page += "<ul>";
    const std::vector<std::string> names = of.options().measure_names();
    for (size_t i = 0; i < line.cells.size(); ++i)
      page += fmt::format("<li>{}: {}</li>", escaped(names[i]), escaped(line.cells[i].text));
    page += "</ul>";
    if (!line.reason.empty()) page += "<p>" + escaped(line.reason) + "</p>";
    page += "</div>\n";
  } else {
    page += compared ? "<div class=\"none\"><b>No tensor differs.</b></div>\n"
                     : "<div class=\"first\"><b>Nothing could be compared.</b></div>\n";
  }
  page += fmt::format(
      "<p>{} tensors compared, {} with a cosine below {}, {} without counterpart. A high cosine proves "
      "nothing, a low one does suggest a fault.</p>\n",
      compared, bad, threshold, gaps);
  page +=
      "<p><input id=\"filter\" placeholder=\"name, type, shape …\"><label><input type=\"checkbox\" id=\"bad\"> only "
      "what differs</label></p>\n";
  page += "<div class=\"wide\"><table><thead><tr>";
  for (const std::string& name : columns(of)) page += "<th>" + escaped(name) + "</th>";
  page += "</tr></thead><tbody>\n";
  for (const Line& line : lines) {
    const bool gap = line.tensor == "NaN" || line.golden_path.empty();
    page += differs(of, line, threshold) ? "<tr class=\"bad\">" : gap ? "<tr class=\"gap\">" : "<tr>";
    for (const std::string& text : cells_of(of, line)) {
      const bool number = !text.empty() && text.find_first_not_of("0123456789.-") == std::string::npos;
      page += (number ? "<td class=\"n\">" : "<td>") + escaped(text) + "</td>";
    }
    page += "</tr>\n";
  }
  page += "</tbody></table></div>\n";
  page += kScript;
  return page + "</body></html>\n";
}

std::string advice(const Comparison& of, const std::vector<Line>& lines) {
  auto text = [](const char* type, const std::string& index, const std::string& what) {
    return fmt::format("Detection Type: {}\nOperator Index: {}\nExpert Advice: {}\n", type, index, what);
  };
  for (const Line& line : lines)
    if (line.overflow == "YES")
      return text("FP16 Overflow", std::to_string(line.index),
                  "A float16 tensor overflows. Mend that first, then compare again.");
  auto bad = [&](const Line& line) {
    const Cell* cosine = cell(of, line, kCosineSimilarity);
    return cosine && !std::isnan(cosine->value) && cosine->value < kGoodCosine;
  };
  if (of.rule())
    for (const std::string& data : of.rule()->data())
      for (const Line& line : lines)
        if (line.mine == data && bad(line))
          return text("Input Inconsistent", std::to_string(line.index),
                      "The two sides were given different inputs. Use the same data, or look at the preprocessing.");
  const Line *first = nullptr, *last = nullptr;
  for (const Line& line : lines) {
    const Cell* cosine = cell(of, line, kCosineSimilarity);
    if (!cosine || std::isnan(cosine->value)) continue;
    last = &line;
    if (!first && bad(line)) first = &line;
  }
  if (!last) return text("NA", "NA", "No tensor has a cosine: nothing can be said.");
  if (!first)
    return text("Global Consistency", "NA",
                "All tensors agree. If the model is still wrong in use, look at what is done with its outputs.");
  return text("Global Consistency", std::to_string(first->index),
              bad(*last) ? "Some tensors differ, and so does the result. Begin with the operator named above."
                         : "Some tensors differ and the result agrees. As a rule that may be left as it is.");
}

void write_file(const std::string& path, std::string_view text) {
  std::FILE* file = std::fopen(path.c_str(), "wb");
  if (!file) throw Error(code::kAclInvalidFile, "{} cannot be written: {}", path, std::strerror(errno));
  const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  if (std::fclose(file) != 0 || !written)
    throw Error(code::kAclInvalidFile, "{} cannot be written to its end: {}", path, std::strerror(errno));
}

}  // namespace updraft::compare
