#pragma once
#include <fido.h>
#include <string.h>

// True if the security key supports hmac-secret.
static inline bool albumfs_fido2_has_hmac_secret(fido_dev_t *device) {
  bool found = false;
  fido_cbor_info_t *info = fido_cbor_info_new();
  if (info != NULL && fido_dev_get_cbor_info(device, info) == FIDO_OK) {
    char **names = fido_cbor_info_extensions_ptr(info);
    for (size_t i = 0; i < fido_cbor_info_extensions_len(info); i++)
      if (names[i] != NULL && strcmp(names[i], "hmac-secret") == 0) found = true;
  }
  fido_cbor_info_free(&info);
  return found;
}
