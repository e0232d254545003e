#pragma once
// The symbols of an address, as a picture of squares for phones.
#include <qrencode.h>
