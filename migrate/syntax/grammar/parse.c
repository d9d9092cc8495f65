/* tree-sitter's runtime and its Python grammar are one translation unit, so that the compiler sees through the calls
 * between lexer, scanner and parser, and so that what a single pass in one thread does not need is left out: locks
 * around reference counts, giving memory back piece by piece, balancing for later edits. Sources come unchanged from
 * the archives of third_party/sdists.toml; this file is bound to those versions (docs/internals/migrate-speed.md). */
#define _POSIX_C_SOURCE 200112L
#include "parse.h"

#include "arena.h"

/* a tree stays in its thread */
#define TREE_SITTER_ATOMIC_H_
static inline size_t atomic_load(const volatile size_t* p) { return *p; }
static inline uint32_t atomic_inc(volatile uint32_t* p) { return ++*(uint32_t*)p; }
static inline uint32_t atomic_dec(volatile uint32_t* p) { return --*(uint32_t*)p; }

#define TREE_SITTER_HIDE_SYMBOLS
#define TREE_SITTER_HIDDEN_SYMBOLS

/* Rare states of the grammar list their symbols, which are searched for each token: what was found is noted. */
#define ts_language_lookup search_language
#include "tree-sitter/tree_sitter/core/lib/src/language.h"
#undef ts_language_lookup
static inline uint16_t ts_language_lookup(const TSLanguage* self, TSStateId state, TSSymbol symbol) {
  static _Thread_local struct {
    uint32_t key;
    uint16_t value;
  } noted[4096];
  if (state < self->large_state_count) return self->parse_table[state * self->symbol_count + symbol];
  const uint32_t key = (uint32_t)state << 16 | symbol, slot = (state * 61u + symbol) % 4096; /* a rare state is not 0 */
  if (noted[slot].key != key) {
    noted[slot].key = key;
    noted[slot].value = search_language(self, state, symbol);
  }
  return noted[slot].value;
}

#include "tree-sitter/tree_sitter/core/lib/src/get_changed_ranges.c"
#include "tree-sitter/tree_sitter/core/lib/src/language.c"
#include "tree-sitter/tree_sitter/core/lib/src/lexer.c"
#include "tree-sitter/tree_sitter/core/lib/src/node.c"
#include "tree-sitter/tree_sitter/core/lib/src/stack.c"
#include "tree-sitter/tree_sitter/core/lib/src/subtree.c"
#include "tree-sitter/tree_sitter/core/lib/src/tree.c"
#include "tree-sitter/tree_sitter/core/lib/src/tree_cursor.c"
#include "tree-sitter/tree_sitter/core/lib/src/wasm_store.c"
#define ts_subtree_balance(tree, pool, language) ((void)0) /* a balanced tree is for edits */
#include "tree-sitter/tree_sitter/core/lib/src/parser.c"
#undef ts_subtree_balance

/* Most characters are ASCII. */
static void advance_ascii(TSLexer* lexer, bool skip) {
  Lexer* self = (Lexer*)lexer;
  const uint32_t next = self->current_position.bytes + 1 - self->chunk_start;
  if (self->chunk && self->lookahead_size == 1 && lexer->lookahead != '\n' && next < self->chunk_size &&
      (unsigned char)self->chunk[next] < 0x80) {
    self->current_position.bytes++;
    self->current_position.extent.column++;
    if (skip) self->token_start_position = self->current_position;
    lexer->lookahead = (unsigned char)self->chunk[next];
  } else {
    ts_lexer__advance(lexer, skip);
  }
}

static void mark_end(TSLexer* lexer) {
  ((Lexer*)lexer)->token_end_position = ((Lexer*)lexer)->current_position; /* there is one range */
}

/* The ranges are in order, and letters of ASCII stand in the first ones. */
static inline bool among(const TSCharacterRange* ranges, uint32_t count, int32_t c) {
  if (c >= 0x80) return set_contains((TSCharacterRange*)ranges, count, c);
  while (count > 0 && ranges->end < c) ++ranges, --count;
  return count > 0 && ranges->start <= c;
}
#define set_contains among

#undef START_LEXER
#define START_LEXER()         \
  bool result = false;        \
  bool skip = false;          \
  bool eof = false;           \
  int32_t lookahead;          \
  goto start;                 \
  next_state:                 \
  advance_ascii(lexer, skip); \
  start:                      \
  skip = false;               \
  lookahead = lexer->lookahead;
#undef ACCEPT_TOKEN
#define ACCEPT_TOKEN(symbol_value)     \
  result = true;                       \
  lexer->result_symbol = symbol_value; \
  mark_end(lexer);
#include "tree-sitter-python/src/parser.c"
/* The scanner's arrays are made anew for each token: they are emptied instead, the arena takes them back. */
#undef array_delete
#define array_delete(self) array_clear(self)
#include "tree-sitter-python/src/scanner.c"
#undef array_delete

/* A node whose children are being visited. */
typedef struct {
  const Subtree *next, *end;
  const TSSymbol* aliases;
  const TSFieldMapEntry *fields, *fields_end;
  uint32_t position; /* where the next child's padding begins */
  uint32_t index;    /* of the next child among those that the grammar counts */
  uint32_t level;
  TSFieldId field; /* of a hidden node: its children stand in it, too */
} Frame;

static _Thread_local Array(Frame) frames;

/* The field of a node's index-th child: its own, else that of the hidden node that it stands in. */
static inline TSFieldId field_at(const TSFieldMapEntry* entry, const TSFieldMapEntry* end, uint32_t index,
                                 TSFieldId around) {
  for (; entry < end; ++entry)
    if (!entry->inherited && entry->child_index == index) return entry->field_id;
  return around;
}

static void enter(Subtree node, uint32_t start, uint32_t level, TSFieldId field) {
  Frame frame = {.next = ts_subtree_children(node), .level = level, .field = field};
  frame.end = frame.next + node.ptr->child_count;
  frame.aliases = ts_language_alias_sequence(tree_sitter_python(), node.ptr->production_id);
  ts_language_field_map(tree_sitter_python(), node.ptr->production_id, &frame.fields, &frame.fields_end);
  frame.position = start - ts_subtree_padding(*frame.next).bytes; /* a node's padding is its first child's */
  array_push(&frames, frame);
}

static bool emit(struct updraft_parsed_node* node, Subtree tree, TSSymbol alias, uint32_t start, uint32_t level,
                 TSFieldId field) {
  const TSSymbol symbol = alias ? alias : ts_subtree_symbol(tree);
  node->begin = start;
  node->end = start + ts_subtree_size(tree).bytes;
  node->level = level;
  node->symbol = ts_language_public_symbol(tree_sitter_python(), symbol);
  node->field = field;
  node->named = alias ? ts_language_symbol_metadata(tree_sitter_python(), alias).named : ts_subtree_named(tree);
  node->missing = ts_subtree_missing(tree);
  if (ts_subtree_child_count(tree) > 0) enter(tree, start, level + node->named, 0);
  return node->named || node->missing;
}

static _Thread_local Subtree root;

bool updraft_parse(const char* text, uint32_t size) {
  arena_reset(false);
  memset(&frames, 0, sizeof frames);
  TSParser* parser = ts_parser_new();
  ts_parser_set_language(parser, tree_sitter_python());
  parser->lexer.data.advance = advance_ascii;
  parser->lexer.data.mark_end = mark_end;
  const TSTree* tree = ts_parser_parse_string(parser, NULL, text, size);
  root = tree ? tree->root : NULL_SUBTREE;
  return tree != NULL;
}

bool updraft_parsed_next(struct updraft_parsed_node* node) {
  if (root.ptr) {
    const Subtree whole = root;
    root = NULL_SUBTREE;
    if (emit(node, whole, 0, ts_subtree_padding(whole).bytes, 0, 0)) return true;
  }
  while (frames.size > 0) {
    Frame* frame = array_back(&frames);
    if (frame->next == frame->end) {
      --frames.size;
      continue;
    }
    Subtree child = *frame->next++;
    const uint32_t start = frame->position + ts_subtree_padding(child).bytes, level = frame->level;
    frame->position = start + ts_subtree_size(child).bytes;
    TSSymbol alias = 0;
    TSFieldId field = 0;
    if (!ts_subtree_extra(child)) {
      if (frame->aliases) alias = frame->aliases[frame->index];
      field = field_at(frame->fields, frame->fields_end, frame->index, frame->field);
      ++frame->index;
    }
    /* most hidden nodes wrap one other: expression, primary_expression, identifier */
    while (!alias && !ts_subtree_visible(child) && ts_subtree_child_count(child) == 1) {
      const uint32_t production = child.ptr->production_id;
      child = *ts_subtree_children(child);
      if (ts_subtree_extra(child)) {
        field = 0;
      } else if (production) {
        const TSFieldMapEntry *fields, *end;
        alias = ts_language_alias_at(tree_sitter_python(), production, 0);
        ts_language_field_map(tree_sitter_python(), production, &fields, &end);
        field = field_at(fields, end, 0, field);
      }
    }
    if (alias || ts_subtree_visible(child)) {
      if (emit(node, child, alias, start, level, field)) return true;
    } else if (ts_subtree_visible_child_count(child) > 0) {
      enter(child, start, level, field);
    }
  }
  arena_reset(false);
  memset(&frames, 0, sizeof frames);
  return false;
}

void updraft_parse_done(void) { arena_reset(true); }

uint32_t updraft_symbol_count(void) { return ts_language_symbol_count(tree_sitter_python()); }

const char* updraft_symbol_name(uint16_t symbol) {
  return ts_language_symbol_type(tree_sitter_python(), symbol) == TSSymbolTypeRegular
             ? ts_language_symbol_name(tree_sitter_python(), symbol)
             : NULL;
}

uint32_t updraft_field_count(void) { return ts_language_field_count(tree_sitter_python()); }
const char* updraft_field_name(uint16_t field) { return ts_language_field_name_for_id(tree_sitter_python(), field); }
