#pragma once
#include <curl/curl.h>

// curl_easy_setopt and curl_easy_getinfo are variadic, and some constants are macros with expressions.
static inline int ccurl_start(void) { return curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK; }

static inline int ccurl_set_text(CURL *handle, CURLoption option, const char *value) {
  return curl_easy_setopt(handle, option, value) == CURLE_OK;
}

static inline int ccurl_set_number(CURL *handle, CURLoption option, long value) {
  return curl_easy_setopt(handle, option, value) == CURLE_OK;
}

static inline int ccurl_set_large(CURL *handle, CURLoption option, curl_off_t value) {
  return curl_easy_setopt(handle, option, value) == CURLE_OK;
}

static inline int ccurl_set_list(CURL *handle, CURLoption option, struct curl_slist *value) {
  return curl_easy_setopt(handle, option, value) == CURLE_OK;
}

// The bytes must stay until the transfer is over.
static inline int ccurl_set_body(CURL *handle, const void *bytes, curl_off_t count) {
  return curl_easy_setopt(handle, CURLOPT_POSTFIELDSIZE_LARGE, count) == CURLE_OK &&
         curl_easy_setopt(handle, CURLOPT_POSTFIELDS, count > 0 ? bytes : "") == CURLE_OK;
}

// Called with bytes of the content, or with one line of the head. Returns `length`, or less to stop.
typedef size_t (*ccurl_receiver)(char *bytes, size_t one, size_t length, void *context);

static inline int ccurl_receive(CURL *handle, ccurl_receiver content, ccurl_receiver line, void *context) {
  return curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, content) == CURLE_OK &&
         curl_easy_setopt(handle, CURLOPT_WRITEDATA, context) == CURLE_OK &&
         curl_easy_setopt(handle, CURLOPT_HEADERFUNCTION, line) == CURLE_OK &&
         curl_easy_setopt(handle, CURLOPT_HEADERDATA, context) == CURLE_OK;
}

// Called before each connection; returns a socket, or -1 to refuse the address.
typedef curl_socket_t (*ccurl_opener)(void *context, curlsocktype purpose, struct curl_sockaddr *address);

static inline int ccurl_open_sockets(CURL *handle, ccurl_opener opener, void *context) {
  return curl_easy_setopt(handle, CURLOPT_OPENSOCKETFUNCTION, opener) == CURLE_OK &&
         curl_easy_setopt(handle, CURLOPT_OPENSOCKETDATA, context) == CURLE_OK;
}

static inline long ccurl_number(CURL *handle, CURLINFO what) {
  long value = 0;
  return curl_easy_getinfo(handle, what, &value) == CURLE_OK ? value : 0;
}

// -1 where libcurl does not know it.
static inline curl_off_t ccurl_large(CURL *handle, CURLINFO what) {
  curl_off_t value = -1;
  return curl_easy_getinfo(handle, what, &value) == CURLE_OK ? value : -1;
}

static inline const char *ccurl_text(CURL *handle, CURLINFO what) {
  char *value = NULL;
  return curl_easy_getinfo(handle, what, &value) == CURLE_OK ? value : NULL;
}
