#include "migrate/report/page/html.h"

#include <fmt/format.h>

#include <string_view>

#include "base/sha256.h"
#include "migrate/report/embedded.h"
#include "migrate/report/page/page_data.h"
#include "migrate/report/summary.h"
#include "migrate/report/utf8.h"

namespace updraft::migrate::report {
namespace {

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : one_line(text)) {
    if (c == '<') out += "&lt;";
    else if (c == '>') out += "&gt;";
    else if (c == '&') out += "&amp;";
    else if (c == '"') out += "&quot;";
    else if (c == '\'') out += "&#39;";
    else out += c;
  }
  return out;
}

/// As a content security policy names an inline script or style.
std::string policy_hash(std::string_view text) {
  const Digest digest = sha256(text.data(), text.size());
  return "'sha256-" + base64({reinterpret_cast<const char*>(digest.data()), digest.size()}) + "'";
}

std::string both(const Text& text) {
  return "<span lang=\"en\">" + escaped(text.en) + "</span> <span lang=\"zh\">" + escaped(text.zh) + "</span>";
}

/// What stands there where scripts do not run: the same in short, in both languages.
std::string plain(const ProjectResult& result, const Summary& summary) {
  std::string out = "<h2>" + both({"What to do next", "下一步"}) + "</h2><ol>";
  for (const Step& step : summary.steps) out += "<li>" + both(step.what) + "</li>";
  out += "</ol><h2>" + both({"Files", "文件"}) + "</h2><table><tr><th>" + both({"File", "文件"}) + "</th><th>" +
         both({"State", "状态"}) + "</th><th>" + both({"Findings", "条目"}) + "</th></tr>\n";
  for (const FileResult& file : result.files)
    out += fmt::format("<tr><td>{}</td><td>{}</td><td>{}</td></tr>\n", escaped(file.path), name(readiness(file)),
                       file.findings.size());
  return out + "</table>";
}

}  // namespace

std::string html(const ProjectResult& result) {
  const Summary summary = summarize(result);
  const std::string_view style = embedded("page.css"), script = embedded("page.js");
  std::string out = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta "
      "http-equiv=\"Content-Security-Policy\" "
      "content=\"default-src 'none'; script-src {}; style-src {}; base-uri 'none'; form-action 'none'\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<meta name=\"color-scheme\" "
      "content=\"light "
      "dark\">\n<meta name=\"referrer\" content=\"no-referrer\">\n<title>{} – "
      "Updraft</title>\n<style>{}</style>\n</head>\n"
      "<body>\n<main id=\"app\">\n",
      policy_hash(script), policy_hash(style),
      escaped(result.request.input.empty() ? "Migration report" : result.request.input), style);
  out += "<h1>Updraft</h1>" + plain(result, summary) + "</main>\n<script type=\"application/json\" id=\"data\">" +
         page_data(result, summary) + "</script>\n";
  for (std::size_t i = 0; i < result.files.size(); ++i)
    out +=
        fmt::format("<script type=\"application/json\" id=\"x{}\">", i) + page_excerpt(result.files[i]) + "</script>\n";
  return out + "<script>" + std::string(script) + "</script>\n</body>\n</html>\n";
}

}  // namespace updraft::migrate::report
