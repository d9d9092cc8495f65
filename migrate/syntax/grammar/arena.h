/* Memory of a parse. tree-sitter makes very many small pieces and counts references to give them back one by one; here
 * a thread's pieces stand in a few blocks that are taken back at once, and what is given back before is used again. */
#ifndef UPDRAFT_MIGRATE_SYNTAX_GRAMMAR_ARENA_H
#define UPDRAFT_MIGRATE_SYNTAX_GRAMMAR_ARENA_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum {
  ARENA_STEP = 16,                      /* sizes are rounded up to it */
  ARENA_CLASSES = 64,                   /* pieces up to 1 KiB are kept by size; larger ones are malloc's */
  ARENA_BLOCK = 256 << 10,              /* bytes taken at once */
  ARENA_KEPT = (16 << 20) / ARENA_BLOCK /* blocks that stay with the thread between two parses */
};

struct arena_block {
  struct arena_block* next;
  char bytes[ARENA_BLOCK - sizeof(struct arena_block*)];
};

/* Every piece has its size in front. Large pieces are a ring besides, so that they can be taken back. */
struct arena_large {
  struct arena_large *before, *after;
  size_t size;
};

struct arena {
  void* free[ARENA_CLASSES + 1];
  char *at, *end;
  struct arena_block *blocks, *current;
  struct arena_large large;
};

static _Thread_local struct arena arena;

static inline size_t arena_steps(size_t size) { return (size + ARENA_STEP - 1) / ARENA_STEP; }
static inline size_t arena_size(const void* piece) { return ((const size_t*)piece)[-1]; }

__attribute__((noinline)) static void arena_next_block(void) {
  struct arena_block* block = arena.current ? arena.current->next : arena.blocks;
  if (!block) {
    block = malloc(sizeof *block);
    if (!block) abort(); /* as tree-sitter's own allocator */
    block->next = NULL;
    if (arena.current) arena.current->next = block;
    else arena.blocks = block;
  }
  arena.current = block;
  arena.at = block->bytes;
  arena.end = block->bytes + sizeof block->bytes;
}

__attribute__((noinline)) static void* arena_large(struct arena_large* piece, size_t size) {
  if (piece) {
    piece->before->after = piece->after;
    piece->after->before = piece->before;
  }
  piece = realloc(piece, sizeof *piece + size);
  if (!piece) abort();
  if (!arena.large.after) arena.large.before = arena.large.after = &arena.large;
  piece->before = &arena.large;
  piece->after = arena.large.after;
  piece->before->after = piece->after->before = piece;
  piece->size = arena_steps(size) * ARENA_STEP; /* as arena_free tells large from small */
  return piece + 1;
}

static inline void* arena_malloc(size_t size) {
  const size_t steps = arena_steps(size);
  if (steps > ARENA_CLASSES) return arena_large(NULL, size);
  void* piece = arena.free[steps];
  if (piece) {
    memcpy(&arena.free[steps], piece, sizeof(void*));
    return piece;
  }
  const size_t whole = sizeof(size_t) + (steps ? steps : 1) * ARENA_STEP;
  if ((size_t)(arena.end - arena.at) < whole) arena_next_block();
  *(size_t*)arena.at = steps * ARENA_STEP;
  piece = arena.at + sizeof(size_t);
  arena.at += whole;
  return piece;
}

static inline void* arena_calloc(size_t count, size_t size) {
  if (size && count > SIZE_MAX / size) abort();
  return memset(arena_malloc(count * size), 0, count * size);
}

static inline void arena_free(void* piece) {
  if (!piece) return;
  const size_t steps = arena_steps(arena_size(piece));
  if (steps > ARENA_CLASSES) {
    struct arena_large* large = (struct arena_large*)piece - 1;
    large->before->after = large->after;
    large->after->before = large->before;
    free(large);
  } else {
    memcpy(piece, &arena.free[steps], sizeof(void*));
    arena.free[steps] = piece;
  }
}

static inline void* arena_realloc(void* piece, size_t size) {
  if (!piece) return arena_malloc(size);
  const size_t have = arena_size(piece);
  if (have > ARENA_CLASSES * ARENA_STEP && size > ARENA_CLASSES * ARENA_STEP)
    return arena_large((struct arena_large*)piece - 1, size);
  if (have <= ARENA_CLASSES * ARENA_STEP && size <= have) return piece;
  void* fresh = arena_malloc(size);
  memcpy(fresh, piece, size < have ? size : have);
  arena_free(piece);
  return fresh;
}

/* Everything is free again; blocks over ARENA_KEPT go back to the system, and all of them with `last`. */
static void arena_reset(bool last) {
  while (arena.large.after && arena.large.after != &arena.large) arena_free(arena.large.after + 1);
  memset(arena.free, 0, sizeof arena.free);
  struct arena_block** link = &arena.blocks;
  for (int kept = last ? ARENA_KEPT : 0; *link && kept < ARENA_KEPT; ++kept) link = &(*link)->next;
  while (*link) {
    struct arena_block* block = *link;
    *link = block->next;
    free(block);
  }
  arena.current = NULL;
  arena.at = arena.end = NULL;
}

#define ts_malloc arena_malloc
#define ts_calloc arena_calloc
#define ts_realloc arena_realloc
#define ts_free arena_free

#endif
