// What the archives of libjpeg-turbo and libpng call stderr (cmake/libraries.cmake).
#include <cstdio>

extern "C" {
extern __attribute__((visibility("hidden"))) FILE* stderr_of_pictures;
FILE* stderr_of_pictures = stderr;
}
