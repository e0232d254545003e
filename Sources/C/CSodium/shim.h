#pragma once
#include <sodium.h>
#include <string.h>

// crypto_generichash(3) for other memory than arrays of bytes: Swift passes any variable as void * without a
// closure.
static inline int albumfs_generichash(void *hash, size_t hash_count, const void *message,
                                      size_t count, const void *key, size_t key_count) {
  return crypto_generichash((unsigned char *)hash, hash_count, (const unsigned char *)message,
                            count, (const unsigned char *)key, key_count);
}

// The key of one record and AES's round keys for it, wiped after use.
typedef struct {
  crypto_aead_aes256gcm_state state;
  unsigned char key[crypto_aead_aes256gcm_KEYBYTES];
  unsigned char nonce[crypto_aead_aes256gcm_NPUBBYTES];
} albumfs_aes256gcm;

static inline void albumfs_aes256gcm_begin(albumfs_aes256gcm *record, const void *nonce,
                                           const void *key) {
  crypto_core_hchacha20(record->key, (const unsigned char *)nonce, (const unsigned char *)key, NULL);
  memset(record->nonce, 0, 4);
  memcpy(record->nonce + 4, (const unsigned char *)nonce + 16, 8);
  crypto_aead_aes256gcm_beforenm(&record->state, record->key);
}

// AES-256-GCM with 24 bytes of nonce, which HChaCha20 and 4 zero bytes reduce to GCM's 12.
static inline void albumfs_aes256gcm_encrypt(void *ciphertext, void *tag, const void *plaintext,
                                             unsigned long long count, const void *associated,
                                             unsigned long long associated_count, const void *nonce,
                                             const void *key) {
  albumfs_aes256gcm record;
  albumfs_aes256gcm_begin(&record, nonce, key);
  crypto_aead_aes256gcm_encrypt_detached_afternm(
      (unsigned char *)ciphertext, (unsigned char *)tag, NULL, (const unsigned char *)plaintext,
      count, (const unsigned char *)associated, associated_count, NULL, record.nonce,
      &record.state);
  sodium_memzero(&record, sizeof record);
}

static inline int albumfs_aes256gcm_decrypt(void *plaintext, const void *ciphertext,
                                            unsigned long long count, const void *tag,
                                            const void *associated,
                                            unsigned long long associated_count, const void *nonce,
                                            const void *key) {
  albumfs_aes256gcm record;
  albumfs_aes256gcm_begin(&record, nonce, key);
  int result = crypto_aead_aes256gcm_decrypt_detached_afternm(
      (unsigned char *)plaintext, NULL, (const unsigned char *)ciphertext, count,
      (const unsigned char *)tag, (const unsigned char *)associated, associated_count,
      record.nonce, &record.state);
  sodium_memzero(&record, sizeof record);
  return result;
}
