#include "migrate/text/shell/lexer.h"

#include <algorithm>
#include <array>

#include "migrate/source/words.h"

namespace updraft::migrate::text {
namespace {

using source::is_name_byte;

constexpr std::array<std::string_view, 16> kReserved = {"if",    "then", "else", "elif", "fi", "do",   "done", "while",
                                                        "until", "!",    "time", "{",    "}",  "esac", "&&",   "||"};

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }
bool holds_commands(char kind) { return kind == 'T' || kind == '(' || kind == '`'; }

}  // namespace

ShellLexer::Frame& ShellLexer::list() {
  for (std::size_t i = frames_.size(); i-- > 0;)
    if (holds_commands(frames_[i].kind)) return frames_[i];
  return frames_.front();
}

void ShellLexer::open_word(std::size_t at) {
  Frame& f = list();
  if (f.in_word) return;
  f.in_word = true;
  f.word = {};
  f.word.begin = at;
}

void ShellLexer::put(char c, std::size_t at) {
  open_word(at);
  Frame& f = list();
  f.word.text += c;
  f.word.at.push_back(static_cast<std::uint32_t>(at));
}

void ShellLexer::end_word(std::size_t at) {
  Frame& f = list();
  if (!f.in_word) return;
  f.in_word = false;
  f.word.end = at;
  ShellWord word = std::move(f.word);
  auto& words = f.command.words;
  if (f.target) {
    f.target = false;
    f.command.targets.push_back(std::move(word));
    return;
  }
  if (!f.cases.empty() && f.cases.back().pattern) {
    if (word.text == "esac" && words.empty()) f.cases.pop_back();
    else words.push_back(std::move(word));
    return;
  }
  if (words.empty() && !word.quoted && std::find(kReserved.begin(), kReserved.end(), word.text) != kReserved.end()) {
    if (word.text == "esac" && !f.cases.empty()) f.cases.pop_back();
    return;
  }
  words.push_back(std::move(word));
  if (words.size() == 3 && words[0].text == "case" && words[2].text == "in" && f.cases.size() < 100) {
    f.cases.push_back({std::move(words[1]), true});
    words.clear();
  }
}

void ShellLexer::end_command(std::size_t at, char terminator) {
  end_word(at);
  Frame& f = list();
  f.target = false;
  if (!f.cases.empty() && f.cases.back().pattern) return;
  if (!f.command.words.empty() || !f.command.targets.empty()) {
    f.command.end = at;
    f.command.terminator = terminator;
    f.command.within = f.kind;
    handler_.command(f.command);
  }
  for (Pending& p : pending_)  // the here-documents of this command learn what it is
    if (p.command.words.empty() && p.command.within == '?') p.command = f.command;
  f.command = {};
}

void ShellLexer::push(char kind) {
  Frame frame{};
  frame.kind = kind;
  frames_.push_back(std::move(frame));
  if (kind == '`') ++back_quotes_;
}

void ShellLexer::pop() {
  if (holds_commands(frames_.back().kind)) end_command(at_, ')');
  if (frames_.back().kind == '`') --back_quotes_;
  frames_.pop_back();
}

/// A ) ends the innermost list, and with it quotes in it that do not end.
bool ShellLexer::close_list() {
  for (std::size_t i = frames_.size(); i-- > 1;) {
    if (frames_[i].kind == '`') return false;
    if (frames_[i].kind != '(') continue;
    while (frames_.size() > i) pop();
    return true;
  }
  return false;
}

void ShellLexer::back_quote() {
  if (back_quotes_ > 0) {
    while (frames_.back().kind != '`') pop();
    pop();
    put('(', at_);
    put(')', at_);
  } else if (!full()) {
    put('$', at_);
    push('`');
  }
  ++at_;
}

void ShellLexer::dollar() {
  const std::size_t dollar = at_;
  const char next = at_ + 1 < text_.size() ? text_[at_ + 1] : '\0';
  put('$', at_);
  ++at_;
  if (next == '$' && lines_) {  // a makefile's $$NAME
    put('$', at_);
    ++at_;
  }
  const char c = at_ < text_.size() ? text_[at_] : '\0';
  if (c == '(' && !full()) {
    put('(', at_);
    const bool arithmetic = text_.substr(at_, 2) == "((";
    at_ += arithmetic ? 2 : 1;
    put(')', at_ - 1);
    if (arithmetic) push('A');
    push(arithmetic ? 'A' : '(');
    return;
  }
  std::size_t begin = at_;
  const bool brace = c == '{';
  if (brace) {
    put('{', at_);
    ++begin;
    if (begin < text_.size() && (text_[begin] == '#' || text_[begin] == '!')) put(text_[begin], begin), ++begin;
  }
  std::size_t end = begin;
  while (end < text_.size() && is_name_byte(text_[end])) put(text_[end], end), ++end;
  if (end > begin && dollar < begin) handler_.expansion(begin, end);
  at_ = end;
  if (!brace) return;
  if (end < text_.size() && text_[end] == '}') {
    put('}', end);
    ++at_;
  } else if (!full()) {
    push('{');
  }
}

void ShellLexer::here(bool tabs) {
  end_word(at_);
  while (at_ < text_.size() && is_blank(text_[at_])) ++at_;
  std::string delimiter;
  bool literal = false;
  char quote = 0;
  for (; at_ < text_.size() && text_[at_] != '\n'; ++at_) {
    const char c = text_[at_];
    if (quote && c == quote) quote = 0;
    else if (!quote && (c == '\'' || c == '"')) quote = c, literal = true;
    else if (!quote && c == '\\') literal = true;
    else if (!quote && (is_blank(c) || std::string_view(";|&<>()`").find(c) != std::string_view::npos)) break;
    else delimiter += c;
  }
  if (delimiter.empty() || pending_.size() > 20) return;
  Pending p{{}, std::move(delimiter), literal, tabs};
  p.command.within = '?';
  pending_.push_back(std::move(p));
}

void ShellLexer::read_here_documents() {
  for (Pending& p : pending_) {
    const std::size_t begin = at_;
    std::size_t end = text_.size();
    bool found = false;
    while (at_ < text_.size() && !found) {
      std::size_t stop = text_.find('\n', at_);
      if (stop == std::string_view::npos) stop = text_.size();
      std::string_view line = text_.substr(at_, stop - at_);
      if (line.ends_with('\r')) line.remove_suffix(1);
      if (p.tabs) line.remove_prefix(std::min(line.find_first_not_of('\t'), line.size()));
      if (line == p.delimiter) {
        end = at_;
        found = true;
      }
      at_ = std::min(stop + 1, text_.size());
    }
    handler_.here_document(p.command, begin, end, p.literal);
  }
  pending_.clear();
}

void ShellLexer::newline() {
  if (lines_) {
    while (frames_.size() > 1) pop();
  }
  end_command(at_, '\n');
  ++at_;
  if (!pending_.empty()) read_here_documents();
}

void ShellLexer::redirection(char c) {
  Frame& f = list();
  if (f.in_word && !f.word.quoted && f.word.text.find_first_not_of("0123456789") == std::string::npos) {
    f.in_word = false;  // the number of a descriptor
    f.word = {};
  }
  end_word(at_);
  if (text_.substr(at_, 3) == "<<<") {
    at_ += 3;
    return;
  }
  if (text_.substr(at_, 2) == "<<") {
    at_ += 2;
    const bool tabs = at_ < text_.size() && text_[at_] == '-';
    if (tabs) ++at_;
    here(tabs);
    return;
  }
  ++at_;
  if (at_ < text_.size() && text_[at_] == '(') return;  // <( and >(: a list
  while (at_ < text_.size() && (text_[at_] == c || text_[at_] == '&' || text_[at_] == '|')) ++at_;
  list().target = true;
}

void ShellLexer::plain(char c) {
  Frame& f = list();
  switch (c) {
    case ' ':
    case '\t':
    case '\r':
      end_word(at_);
      ++at_;
      return;
    case '\n': newline(); return;
    case '#':
      if (!f.in_word) {
        const std::size_t end = std::min(text_.find('\n', at_), text_.size());
        handler_.comment(at_, end);
        at_ = end;
        return;
      }
      break;
    case '\'': {
      open_word(at_);
      Frame& now = list();
      now.word.quoted = now.word.single = true;
      std::size_t end = lines_ ? text_.find_first_of("'\n", at_ + 1) : text_.find('\'', at_ + 1);
      if (end == std::string_view::npos) end = text_.size();
      for (std::size_t i = at_ + 1; i < end; ++i) put(text_[i], i);
      at_ = end < text_.size() && text_[end] == '\'' ? end + 1 : end;
      return;
    }
    case '|':
    case '&':
    case ';': {
      if (c == '&' && at_ + 1 < text_.size() && text_[at_ + 1] == '>') {
        end_word(at_);
        ++at_;
        redirection('>');
        return;
      }
      if (!f.cases.empty() && f.cases.back().pattern && c == '|') {
        end_word(at_);
        ++at_;
        return;
      }
      const bool twice = at_ + 1 < text_.size() && text_[at_ + 1] == c;
      end_command(at_, twice && c == '|' ? 'o' : twice && c == '&' ? 'a' : c);
      if (c == ';' && at_ + 1 < text_.size() && (twice || text_[at_ + 1] == '&') && !list().cases.empty())
        list().cases.back().pattern = true;
      at_ += twice ? 2 : 1;
      return;
    }
    case '<':
    case '>': redirection(c); return;
    case '(': {
      if (!f.cases.empty() && f.cases.back().pattern && !f.in_word) {
        ++at_;
        return;
      }
      if (full()) break;
      const bool arithmetic = text_.substr(at_, 2) == "((" && !f.in_word && f.command.words.empty();
      if (arithmetic) {
        push('A');
        push('A');
        at_ += 2;
        return;
      }
      push('(');
      ++at_;
      return;
    }
    case ')': {
      if (!f.cases.empty() && f.cases.back().pattern) {
        end_word(at_);
        if (!f.cases.empty() && f.cases.back().pattern) {
          handler_.patterns(f.cases.back().subject, f.command.words);
          f.command = {};
          f.cases.back().pattern = false;
          ++at_;
          return;
        }
      }
      if (!close_list()) end_command(at_, ')');
      ++at_;
      return;
    }
    default: break;
  }
  put(c, at_);
  ++at_;
}

void ShellLexer::run() {
  push('T');
  if (text_.starts_with("\xef\xbb\xbf")) at_ = 3;
  while (at_ < text_.size()) {
    const char c = text_[at_];
    const char kind = frames_.back().kind;
    if (c == '\\' && at_ + 1 < text_.size()) {
      const bool crlf = text_.substr(at_, 3) == "\\\r\n";
      if (crlf || text_[at_ + 1] == '\n') {  // the line goes on
        at_ += crlf ? 3 : 2;
        continue;
      }
      const bool kept = kind == '"' && std::string_view("$`\"\\").find(text_[at_ + 1]) == std::string_view::npos;
      if (kept) put('\\', at_);
      put(text_[at_ + 1], at_ + 1);
      at_ += 2;
      continue;
    }
    if (c == '\n' && lines_) newline();
    else if (c == '$') dollar();
    else if (c == '`') back_quote();
    else if (kind == 'A') {
      if (c == '(' && !full()) push('A');
      if (c == ')') pop();
      ++at_;
    } else if (kind == '"') {
      if (c == '"') frames_.pop_back();
      else put(c, at_);
      ++at_;
    } else if (c == '"') {
      open_word(at_);
      list().word.quoted = true;
      if (!full()) push('"');
      ++at_;
    } else if (kind == '{') {
      put(c, at_);
      if (c == '}') frames_.pop_back();
      ++at_;
    } else {
      plain(c);
    }
  }
  while (!frames_.empty()) {
    if (frames_.size() == 1) end_command(at_, '\n');
    if (frames_.size() == 1) break;
    pop();
  }
  if (!pending_.empty()) read_here_documents();
}

}  // namespace updraft::migrate::text
