#pragma once
// Zip files as a stream.
#include <archive.h>
#include <archive_entry.h>
