// FFmpeg's libraries, for albumfs-video-thumbnailer. The inline functions are for macros that Swift cannot
// see.
#pragma once
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libavutil/imgutils.h>
#include <libswscale/swscale.h>

static inline int clibav_error_end(void) { return AVERROR_EOF; }
static inline int clibav_error_io(void) { return AVERROR(EIO); }
static inline int clibav_error_denied(void) { return AVERROR(EPERM); }
static inline int clibav_error_memory(void) { return AVERROR(ENOMEM); }
static inline int64_t clibav_no_time(void) { return AV_NOPTS_VALUE; }
static inline AVRational clibav_microseconds(void) { return AV_TIME_BASE_Q; }
static inline int clibav_lambda(int quality) { return FF_QP2LAMBDA * quality; }
