#pragma once
#include <sodium.h>

// crypto_generichash(3) for other memory than arrays of bytes: Swift passes any variable as void * without a
// closure.
static inline int albumfs_generichash(void *hash, size_t hash_count, const void *message,
                                      size_t count, const void *key, size_t key_count) {
  return crypto_generichash((unsigned char *)hash, hash_count, (const unsigned char *)message,
                            count, (const unsigned char *)key, key_count);
}
