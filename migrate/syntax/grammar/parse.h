/* tree-sitter with its Python grammar, as one translation unit (parse.c), and its tree as a sequence of nodes. */
#ifndef UPDRAFT_MIGRATE_SYNTAX_GRAMMAR_PARSE_H
#define UPDRAFT_MIGRATE_SYNTAX_GRAMMAR_PARSE_H
#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A named node, or a token that the parser made up. */
struct updraft_parsed_node {
  uint32_t begin, end; /**< bytes of the text */
  uint32_t level;      /**< how many named nodes are around it */
  uint16_t symbol;     /**< the grammar's number; UINT16_MAX for an error */
  uint16_t field;      /**< the grammar's number of the field of its parent that it stands in, or 0 */
  bool named, missing;
};

/** Parses UTF-8; false where the parser gave no tree. A thread has one tree: what it parsed before is gone. */
bool updraft_parse(const char* text, uint32_t size);
/** The next node of the thread's tree in pre-order. False after the last; the tree is gone then. */
bool updraft_parsed_next(struct updraft_parsed_node* node);
/** Gives the thread's memory back to the system. */
void updraft_parse_done(void);

/** The grammar's tables. */
uint32_t updraft_symbol_count(void);
/** NULL for what is no named kind of node. */
const char* updraft_symbol_name(uint16_t symbol);
uint32_t updraft_field_count(void);
const char* updraft_field_name(uint16_t field);

#ifdef __cplusplus
}
#endif
#endif
