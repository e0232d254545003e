#include "CLinux.h"

// In a section of its own, where scripts/version finds it in a built program. So a build does not depend on the
// commit, and one of another commit compiles nothing anew. Not const: the compiler would take the text for known.
__attribute__((section("albumfs_source"), used)) static char source[64] = "unknown commit";

const char *clinux_source(void) { return source; }
