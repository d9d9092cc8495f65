// Shell scripts as commands and words with the place of every byte: quotes, expansions, substitutions, here-documents,
// case patterns and comments. It never fails: what is not shell becomes odd words.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace updraft::migrate::text {

struct ShellWord {
  std::size_t begin = 0, end = 0;  ///< in the script, quotes included
  std::string text;                ///< quotes removed; expansions as they are written, substitutions as $()
  std::vector<std::uint32_t> at;   ///< where each byte of `text` stands
  bool single = false;             ///< some of it is in single quotes
  bool quoted = false;             ///< some of it is in quotes
};

struct ShellCommand {
  std::vector<ShellWord> words;    ///< without reserved words and redirections
  std::vector<ShellWord> targets;  ///< files of redirections
  std::size_t end = 0;             ///< where its terminator stands
  char terminator = '\n';
  char within = 'T';  ///< T: the script, (: a list or substitution, `: one in back quotes
};

class ShellHandler {
 public:
  virtual ~ShellHandler() = default;
  virtual void command(const ShellCommand& command) = 0;
  /// The name in $NAME or ${NAME…}; not in single quotes.
  virtual void expansion(std::size_t begin, std::size_t end) = 0;
  virtual void comment(std::size_t begin, std::size_t end) = 0;
  /// Words of `case subject in word | word)`.
  virtual void patterns(const ShellWord& subject, const std::vector<ShellWord>& words) = 0;
  /// The body of a here-document, whole lines; `literal` when its delimiter is quoted.
  virtual void here_document(const ShellCommand& command, std::size_t begin, std::size_t end, bool literal) = 0;
};

class ShellLexer {
 public:
  /// `lines`: quotes and brackets end with their line, as in makefiles.
  ShellLexer(std::string_view text, bool lines, ShellHandler& handler)
      : text_(text), lines_(lines), handler_(handler) {}
  void run();

 private:
  struct Case {
    ShellWord subject;
    bool pattern = true;  ///< patterns come now
  };
  struct Frame {
    char kind;  ///< T script, ( list, ` substitution, " quotes, { ${…}, A arithmetic
    ShellCommand command;
    ShellWord word;
    bool in_word = false, target = false;
    std::vector<Case> cases;
  };
  struct Pending {
    ShellCommand command;
    std::string delimiter;
    bool literal, tabs;
  };

  Frame& list();  ///< the innermost frame that holds commands
  /// Deeper brackets are taken as plain bytes, so that time stays linear.
  bool full() const { return frames_.size() > 100; }
  void put(char c, std::size_t at);
  void open_word(std::size_t at);
  void end_word(std::size_t at);
  void end_command(std::size_t at, char terminator);
  void push(char kind);
  void pop();
  bool close_list();
  void back_quote();
  void dollar();
  void plain(char c);
  void redirection(char c);
  void here(bool tabs);
  void newline();
  void read_here_documents();

  std::string_view text_;
  bool lines_;
  ShellHandler& handler_;
  std::size_t at_ = 0;
  std::vector<Frame> frames_;
  std::vector<Pending> pending_;
  int back_quotes_ = 0;
};

}  // namespace updraft::migrate::text
