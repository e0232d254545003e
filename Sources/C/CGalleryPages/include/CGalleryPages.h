// The files of Sources/Gallery/Pages, by number.
#pragma once

int gallery_page_count(void);
const char *gallery_page_name(int number);
const unsigned char *gallery_page_bytes(int number);
unsigned long gallery_page_size(int number);
