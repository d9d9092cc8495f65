/* Parses the files named on standard input, one a line: the work by which a build profiles the parser
 * (cmake/profile_guided.py). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "parse.h"

int main(void) {
  char name[4096];
  unsigned long nodes = 0;
  while (fgets(name, sizeof name, stdin)) {
    name[strcspn(name, "\n")] = 0;
    FILE* file = fopen(name, "rb");
    if (!file || fseek(file, 0, SEEK_END) != 0) return 1;
    const long size = ftell(file);
    char* text = malloc((size_t)size + 1);
    rewind(file);
    if (!text || fread(text, 1, (size_t)size, file) != (size_t)size) return 1;
    fclose(file);
    struct updraft_parsed_node node;
    if (!updraft_parse(text, (uint32_t)size)) return 1;
    while (updraft_parsed_next(&node)) ++nodes;
    free(text);
  }
  printf("%lu\n", nodes);
  return nodes == 0;
}
