internal import CLibAV
import FileKinds
internal import Glibc
internal import PictureDecoders
internal import ThumbnailProtocol

/// Wraps FFmpeg's libraries; no other file calls them. For one thread.
enum LibAV {
  /// nil for a codec of which no decoder may run, whatever a video asks for.
  fileprivate static func decoder(for codec: AVCodecID) -> UnsafePointer<AVCodec>? {
    let name = unsafe String(cString: avcodec_get_name(codec))
    return unsafe VideoCodecs.decoders[name].flatMap { unsafe avcodec_find_decoder_by_name($0) }
  }

  static func prepare() -> Set<ImageKind> {
    av_log_set_level(AV_LOG_QUIET)
    // Holds the index of a day of video and sound. A hostile one states billions of frames in a few bytes.
    av_max_alloc(128 << 20)
    // The demuxer of MOV converts times, and the C library then reads the time zone from a file.
    tzset()
    return ImageKind.videos.filter { kind in
      VideoCodecs.demuxers[kind].map { unsafe av_find_input_format($0) != nil } ?? false
    }
  }
}

/// The bytes of a video as FFmpeg reads them: at a position, and no more than allowed.
private final class Input {
  private let video: any VideoBytes
  private let effort: Effort
  private var position: Int64 = 0
  private var allowance: UInt64

  init(_ video: any VideoBytes, _ allowance: UInt64, _ effort: Effort) {
    self.video = video
    self.allowance = allowance
    self.effort = effort
  }

  /// False makes FFmpeg give up.
  var isWanted: Bool { effort.isLeft }

  static func from(_ opaque: UnsafeMutableRawPointer?) -> Input {
    unsafe Unmanaged<Input>.fromOpaque(opaque!).takeUnretainedValue()
  }

  func read(_ target: UnsafeMutablePointer<UInt8>?, _ count: CInt) -> CInt {
    guard effort.chargeRead() else { return clibav_error_io() }
    let rest = min(Int64(count), video.byteCount - position)
    guard let target = unsafe target, rest > 0, rest <= allowance else { return clibav_error_end() }
    let got = unsafe video.read(
      at: position, into: UnsafeMutableRawBufferPointer(start: target, count: Int(rest)))
    if got == 0 { return clibav_error_end() }
    allowance -= UInt64(got)
    position += Int64(got)
    return CInt(got)
  }

  func seek(_ offset: Int64, _ whence: CInt) -> Int64 {
    guard effort.chargeRead() else { return Int64(clibav_error_io()) }
    switch whence & ~AVSEEK_FORCE {
    case AVSEEK_SIZE: return video.byteCount
    case SEEK_SET: position = offset
    case SEEK_CUR: position = position.addingReportingOverflow(offset).partialValue
    case SEEK_END: position = video.byteCount.addingReportingOverflow(offset).partialValue
    default: return Int64(clibav_error_io())
    }
    // A position beyond the end reads nothing.
    if position < 0 { position = video.byteCount }
    return position
  }
}

/// An opened video and the stream that is shown.
@safe
final class Film {
  private static let bufferByteCount = 64 << 10
  private static let keyFrameLimit = 8

  private let input: Input
  private let effort: Effort
  private var io: UnsafeMutablePointer<AVIOContext>?
  private var context: UnsafeMutablePointer<AVFormatContext>?
  private var codec: UnsafeMutablePointer<AVCodecContext>?
  private var packet: UnsafeMutablePointer<AVPacket>?
  private var stream: UnsafeMutablePointer<AVStream>?

  init(_ video: any VideoBytes, kind: ImageKind, allowance: UInt64, effort: Effort)
    throws(VideoFault)
  {
    input = Input(video, allowance, effort)
    self.effort = effort
    try open(kind)
    try chooseStream()
    try openDecoder()
    unsafe packet = av_packet_alloc()
    if unsafe packet == nil { throw VideoFault(.tooLarge, "memory") }
  }

  deinit {
    unsafe av_packet_free(&packet)
    unsafe avcodec_free_context(&codec)
    unsafe avformat_close_input(&context)
    if let io = unsafe io { unsafe av_free(io.pointee.buffer) }
    unsafe avio_context_free(&io)
  }

  // MARK: Opening

  private func open(_ kind: ImageKind) throws(VideoFault) {
    guard let name = VideoCodecs.demuxers[kind], let format = unsafe av_find_input_format(name),
      let buffer = unsafe av_malloc(Film.bufferByteCount)
    else { throw VideoFault(.internal, "no demuxer") }
    unsafe io = avio_alloc_context(
      buffer.assumingMemoryBound(to: UInt8.self), CInt(Film.bufferByteCount), 0,
      Unmanaged.passUnretained(input).toOpaque(),
      { unsafe Input.from($0).read($1, $2) }, nil, { unsafe Input.from($0).seek($1, $2) })
    unsafe context = avformat_alloc_context()
    guard let io = unsafe io, let made = unsafe context else {
      throw VideoFault(.tooLarge, "memory")
    }
    unsafe made.pointee.pb = io
    unsafe made.pointee.flags |= AVFMT_FLAG_CUSTOM_IO
    unsafe made.pointee.max_streams = 64
    unsafe made.pointee.probesize = 1 << 20
    unsafe made.pointee.max_probe_packets = 100
    unsafe made.pointee.interrupt_callback = AVIOInterruptCB(
      callback: { unsafe Input.from($0).isWanted ? 0 : 1 },
      opaque: Unmanaged.passUnretained(input).toOpaque())
    // A video may name other files.
    unsafe made.pointee.io_open = { _, _, _, _, _ in clibav_error_denied() }
    var options: OpaquePointer?
    unsafe av_dict_set(&options, "protocol_whitelist", "", 0)
    unsafe av_dict_set(&options, "format_whitelist", name, 0)
    // Without a list of frames for each edit. Together these could be as long as edits times frames.
    unsafe av_dict_set(&options, "advanced_editlist", "0", 0)
    defer { unsafe av_dict_free(&options) }
    let result = unsafe avformat_open_input(&context, "", format, &options)
    if result != 0 { throw Film.fault(result, "open") }
  }

  private static func fault(_ result: CInt, _ step: String) -> VideoFault {
    VideoFault(result == clibav_error_memory() ? .tooLarge : .damaged, "\(step): \(result)")
  }

  /// Chooses the largest video that can be decoded, and no cover of an album of songs.
  private func chooseStream() throws(VideoFault) {
    guard let context = unsafe context else { return }
    var best: Int64 = -1
    var hasVideo = false
    for index in 0..<Int(unsafe context.pointee.nb_streams) {
      guard let candidate = unsafe context.pointee.streams[index],
        let parameters = unsafe candidate.pointee.codecpar
      else { continue }
      unsafe candidate.pointee.discard = AVDISCARD_ALL
      if unsafe parameters.pointee.codec_type != AVMEDIA_TYPE_VIDEO { continue }
      if unsafe candidate.pointee.disposition & AV_DISPOSITION_ATTACHED_PIC != 0 { continue }
      hasVideo = true
      if unsafe LibAV.decoder(for: parameters.pointee.codec_id) == nil { continue }
      let area = unsafe Int64(parameters.pointee.width) * Int64(parameters.pointee.height)
      if area > best {
        best = area
        unsafe stream = candidate
      }
    }
    if unsafe stream == nil {
      throw VideoFault(.notAPicture, hasVideo ? "a codec without a decoder" : "no video")
    }
    if best > Effort.framePixels { throw VideoFault(.tooLarge, "\(best) pixels") }
    unsafe stream?.pointee.discard = AVDISCARD_DEFAULT
  }

  private func openDecoder() throws(VideoFault) {
    guard let parameters = unsafe stream?.pointee.codecpar,
      let decoder = unsafe LibAV.decoder(for: parameters.pointee.codec_id),
      let made = unsafe avcodec_alloc_context3(decoder)
    else { throw VideoFault(.tooLarge, "memory") }
    unsafe codec = made
    let filled = unsafe avcodec_parameters_to_context(made, parameters)
    if filled < 0 { throw Film.fault(filled, "parameters") }
    unsafe made.pointee.thread_count = 1
    // A packet may hold many frames.
    unsafe made.pointee.opaque = Unmanaged.passUnretained(effort).toOpaque()
    unsafe made.pointee.get_buffer2 = { unsafe Film.giveBuffer($0, $1, $2) }
    unsafe made.pointee.max_pixels = Effort.framePixels
    unsafe made.pointee.flags |= AV_CODEC_FLAG_OUTPUT_CORRUPT
    // Without the search for the motion of lost blocks, whose time grows faster than the frame.
    unsafe made.pointee.error_concealment = FF_EC_DEBLOCK
    let opened = unsafe avcodec_open2(made, decoder, nil)
    if opened != 0 { throw Film.fault(opened, "decoder") }
  }

  private static func giveBuffer(
    _ codec: UnsafeMutablePointer<AVCodecContext>?, _ frame: UnsafeMutablePointer<AVFrame>?,
    _ flags: CInt
  ) -> CInt {
    guard let codec = unsafe codec, let frame = unsafe frame else { return clibav_error_io() }
    let effort = unsafe Unmanaged<Effort>.fromOpaque(codec.pointee.opaque).takeUnretainedValue()
    let (width, height) = unsafe (Int64(frame.pointee.width), Int64(frame.pointee.height))
    guard effort.charge(width: width, height: height) else { return clibav_error_memory() }
    return unsafe avcodec_default_get_buffer2(codec, frame, flags)
  }

  // MARK: Frames

  /// Goes to the key frame before this part of the video, if it can.
  func seek(toHundredths part: Int64) {
    guard let context = unsafe context, let stream = unsafe stream, let duration else { return }
    let base = unsafe stream.pointee.time_base
    let offset = av_rescale_q(duration * 10 * part, clibav_microseconds(), base)
    let start = unsafe stream.pointee.start_time
    let first = start == clibav_no_time() ? 0 : start
    let (target, isTooMuch) = first.addingReportingOverflow(offset)
    if isTooMuch { return }
    unsafe av_seek_frame(context, stream.pointee.index, target, AVSEEK_FLAG_BACKWARD)
    // After its last frame a decoder takes no packet.
    if let codec = unsafe codec { unsafe avcodec_flush_buffers(codec) }
  }

  /// Decodes the next key frame that can be decoded by itself.
  func keyFrame() throws(VideoFault) -> Frame {
    guard let stream = unsafe stream, let codec = unsafe codec, let packet = unsafe packet,
      let frame = Frame()
    else { throw VideoFault(.tooLarge, "memory") }
    unsafe stream.pointee.discard = AVDISCARD_NONKEY
    var tried = 0
    while tried < Film.keyFrameLimit, nextPacket() {
      defer { unsafe av_packet_unref(packet) }
      if unsafe packet.pointee.flags & AV_PKT_FLAG_KEY == 0 { continue }
      tried += 1
      let isSent = unsafe try send(packet, to: codec)
      // A decoder keeps frames back until it knows their order; this makes it give all.
      if unsafe isSent && avcodec_send_packet(codec, nil) == 0, unsafe frame.receive(from: codec),
        !frame.isIncomplete
      {
        return frame
      }
      unsafe avcodec_flush_buffers(codec)
    }
    throw VideoFault(.damaged, "no key frame")
  }

  /// Decodes from here on until there is a frame.
  func anyFrame() throws(VideoFault) -> Frame {
    guard let codec = unsafe codec, let packet = unsafe packet, let frame = Frame() else {
      throw VideoFault(.tooLarge, "memory")
    }
    while nextPacket() {
      defer { unsafe av_packet_unref(packet) }
      _ = unsafe try send(packet, to: codec)
      if unsafe frame.receive(from: codec) { return frame }
    }
    if unsafe avcodec_send_packet(codec, nil) == 0, unsafe frame.receive(from: codec) {
      return frame
    }
    throw VideoFault(.damaged, "no frame")
  }

  /// Gives a packet to the decoder. Returns false if it does not take it.
  private func send(
    _ packet: UnsafeMutablePointer<AVPacket>, to codec: UnsafeMutablePointer<AVCodecContext>
  ) throws(VideoFault) -> Bool {
    // The size may change with each packet.
    let (width, height) = unsafe (Int64(codec.pointee.width), Int64(codec.pointee.height))
    guard effort.charge(width: width, height: height) else {
      throw VideoFault(.tooLarge, "too many pixels without a frame")
    }
    return unsafe avcodec_send_packet(codec, packet) == 0
  }

  /// Reads the next packet of the stream; false at the end.
  private func nextPacket() -> Bool {
    guard let context = unsafe context, let packet = unsafe packet, let stream = unsafe stream
    else { return false }
    while effort.chargePacket(), unsafe av_read_frame(context, packet) == 0 {
      let isWanted = unsafe packet.pointee.stream_index == stream.pointee.index
      if isWanted, unsafe packet.pointee.size <= Effort.packetByteCount { return true }
      unsafe av_packet_unref(packet)
    }
    return false
  }

  // MARK: What the container says

  /// In milliseconds.
  var duration: Int64? {
    guard let context = unsafe context, let stream = unsafe stream else { return nil }
    var duration = unsafe context.pointee.duration
    if duration == clibav_no_time() {
      duration = unsafe stream.pointee.duration
      if duration == clibav_no_time() { return nil }
      duration = unsafe av_rescale_q(duration, stream.pointee.time_base, clibav_microseconds())
    }
    // Hours of a year; more is no duration.
    return (1...31_536_000_000_000).contains(duration) ? max(1, duration / 1000) : nil
  }

  /// How its frames are turned to be upright.
  var turn: Turn {
    var byteCount = 0
    guard let stream = unsafe stream,
      let data = unsafe av_stream_get_side_data(stream, AV_PKT_DATA_DISPLAYMATRIX, &byteCount),
      byteCount >= 36
    else { return Turn() }
    func number(_ index: Int) -> Int32 {
      unsafe UnsafeRawPointer(data).loadUnaligned(fromByteOffset: index * 4, as: Int32.self)
    }
    return Turn(a: number(0), b: number(1), c: number(3), d: number(4))
  }

  /// Width by height of a pixel.
  func pixelAspect(of frame: Frame) -> Double {
    guard let context = unsafe context, let stream = unsafe stream else { return 1 }
    let ratio = unsafe av_guess_sample_aspect_ratio(context, stream, frame.raw)
    return ratio.num > 0 && ratio.den > 0 ? Double(ratio.num) / Double(ratio.den) : 1
  }
}

/// Owns one decoded frame.
@safe
final class Frame {
  fileprivate let raw: UnsafeMutablePointer<AVFrame>

  fileprivate init?() {
    guard let raw = unsafe av_frame_alloc() else { return nil }
    unsafe self.raw = raw
  }

  /// Memory for pixels.
  fileprivate convenience init?(_ format: AVPixelFormat, width: Int, height: Int) {
    self.init()
    unsafe raw.pointee.format = format.rawValue
    unsafe raw.pointee.width = CInt(width)
    unsafe raw.pointee.height = CInt(height)
    if unsafe av_frame_get_buffer(raw, 64) != 0 { return nil }
  }

  deinit {
    var frame: UnsafeMutablePointer<AVFrame>? = unsafe raw
    unsafe av_frame_free(&frame)
  }

  fileprivate func receive(from codec: UnsafeMutablePointer<AVCodecContext>) -> Bool {
    unsafe avcodec_receive_frame(codec, raw) == 0 && width > 0 && height > 0
  }

  var width: Int { unsafe Int(raw.pointee.width) }
  var height: Int { unsafe Int(raw.pointee.height) }
  /// True if the decoder filled in what was missing.
  var isIncomplete: Bool {
    unsafe raw.pointee.decode_error_flags != 0 || raw.pointee.flags & AV_FRAME_FLAG_CORRUPT != 0
  }

  private var range: HighDynamicRange? {
    switch unsafe raw.pointee.color_trc {
    case AVCOL_TRC_SMPTE2084: .perceptualQuantizer
    case AVCOL_TRC_ARIB_STD_B67: .hybridLogGamma
    default: nil
    }
  }

  /// The mean of its samples in sRGB, of 255.
  var brightness: Double {
    guard let small = pixels(width: min(width, 32), height: min(height, 32)), !small.bytes.isEmpty
    else { return 0 }
    return Double(small.bytes.reduce(0) { $0 + Int($1) }) / Double(small.bytes.count)
  }

  /// Shrinks it, and converts it to sRGB; nil if its pixels are of no known form.
  func pixels(width: Int, height: Int) -> PosterPixels? {
    guard let range else {
      return scaled(to: AV_PIX_FMT_RGB24, width, height).map {
        PosterPixels(width: width, height: height, bytes: $0.rows(of: width * 3))
      }
    }
    guard let wide = scaled(to: AV_PIX_FMT_RGB48LE, width, height) else { return nil }
    let bytes = range.toSRGB(littleEndian: wide.rows(of: width * 6))
    return PosterPixels(width: width, height: height, bytes: bytes)
  }

  private func scaled(to format: AVPixelFormat, _ width: Int, _ height: Int) -> Frame? {
    let flags = SWS_AREA | SWS_ACCURATE_RND | SWS_FULL_CHR_H_INT
    let own = unsafe AVPixelFormat(raw.pointee.format)
    guard sws_isSupportedInput(own) != 0, let frame = Frame(format, width: width, height: height),
      let scaler = unsafe sws_getContext(
        raw.pointee.width, raw.pointee.height, own, CInt(width), CInt(height), format, flags, nil,
        nil, nil)
    else { return nil }
    defer { unsafe sws_freeContext(scaler) }
    // Fails for formats that need none, such as grey.
    _ = unsafe sws_setColorspaceDetails(
      scaler, sws_getCoefficients(coefficients), isFullRange ? 1 : 0,
      sws_getCoefficients(SWS_CS_ITU601), 1, 0, 1 << 16, 1 << 16)
    guard unsafe Frame.scale(scaler, raw, frame.raw) else { return nil }
    return frame
  }

  fileprivate static func scale(
    _ scaler: OpaquePointer, _ from: UnsafeMutablePointer<AVFrame>,
    _ to: UnsafeMutablePointer<AVFrame>
  ) -> Bool {
    unsafe sws_scale_frame(scaler, to, from) >= 0
  }

  /// FFmpeg numbers the matrices of swscale like those of frames. Video of high definition that says nothing
  /// is BT.709.
  private var coefficients: CInt {
    let space = unsafe raw.pointee.colorspace
    switch space {
    case AVCOL_SPC_BT709, AVCOL_SPC_FCC, AVCOL_SPC_BT470BG, AVCOL_SPC_SMPTE170M,
      AVCOL_SPC_SMPTE240M, AVCOL_SPC_BT2020_NCL, AVCOL_SPC_BT2020_CL:
      return CInt(space.rawValue)
    default: return range != nil ? SWS_CS_BT2020 : height >= 720 ? SWS_CS_ITU709 : SWS_CS_ITU601
    }
  }

  private var isFullRange: Bool {
    let full = [AV_PIX_FMT_YUVJ420P, AV_PIX_FMT_YUVJ422P, AV_PIX_FMT_YUVJ444P, AV_PIX_FMT_YUVJ440P]
    return unsafe raw.pointee.color_range == AVCOL_RANGE_JPEG
      || full.contains(AVPixelFormat(raw.pointee.format))
  }

  private func rows(of byteCount: Int) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(byteCount * height)
    for row in 0..<height {
      let start = unsafe raw.pointee.data.0! + row * Int(raw.pointee.linesize.0)
      unsafe bytes.append(contentsOf: UnsafeBufferPointer(start: start, count: byteCount))
    }
    return bytes
  }

  fileprivate func fill(_ bytes: [UInt8], rowByteCount: Int) {
    for row in 0..<height {
      let start = unsafe raw.pointee.data.0! + row * Int(raw.pointee.linesize.0)
      let part = bytes[row * rowByteCount..<(row + 1) * rowByteCount]
      _ = unsafe UnsafeMutableBufferPointer(start: start, count: rowByteCount)
        .update(fromContentsOf: part)
    }
  }
}

/// Encodes pixels as JPEG.
enum JPEGEncoder {
  /// FFmpeg's scale, from 1, the best.
  private static let quality: CInt = 3

  static func encode(_ pixels: PosterPixels) -> [UInt8]? {
    // Colours at half the resolution would smear a small picture.
    let isSmall = max(pixels.width, pixels.height) < ThumbnailInspection.smallEdge
    let format = isSmall ? AV_PIX_FMT_YUVJ444P : AV_PIX_FMT_YUVJ420P
    guard let frame = converted(pixels, to: format),
      let encoder = unsafe avcodec_find_encoder_by_name("mjpeg")
    else { return nil }
    var context = unsafe avcodec_alloc_context3(encoder)
    var packet = unsafe av_packet_alloc()
    defer {
      unsafe avcodec_free_context(&context)
      unsafe av_packet_free(&packet)
    }
    guard let made = unsafe context, let packet = unsafe packet else { return nil }
    unsafe made.pointee.width = CInt(pixels.width)
    unsafe made.pointee.height = CInt(pixels.height)
    unsafe made.pointee.pix_fmt = format
    unsafe made.pointee.color_range = AVCOL_RANGE_JPEG
    unsafe made.pointee.time_base = AVRational(num: 1, den: 25)
    unsafe made.pointee.sample_aspect_ratio = AVRational(num: 1, den: 1)
    unsafe made.pointee.thread_count = 1
    unsafe made.pointee.global_quality = clibav_lambda(quality)
    // Without the name of the library in a comment.
    unsafe made.pointee.flags |= AV_CODEC_FLAG_QSCALE | AV_CODEC_FLAG_BITEXACT
    unsafe frame.raw.pointee.quality = clibav_lambda(quality)
    unsafe frame.raw.pointee.color_range = AVCOL_RANGE_JPEG
    guard unsafe avcodec_open2(made, encoder, nil) == 0,
      unsafe avcodec_send_frame(made, frame.raw) == 0,
      unsafe avcodec_receive_packet(made, packet) == 0
    else { return nil }
    return unsafe Array(
      UnsafeBufferPointer(start: packet.pointee.data, count: Int(packet.pointee.size)))
  }

  private static func converted(_ pixels: PosterPixels, to format: AVPixelFormat) -> Frame? {
    guard let source = Frame(AV_PIX_FMT_RGB24, width: pixels.width, height: pixels.height),
      let target = Frame(format, width: pixels.width, height: pixels.height),
      let scaler = unsafe sws_getContext(
        CInt(pixels.width), CInt(pixels.height), AV_PIX_FMT_RGB24, CInt(pixels.width),
        CInt(pixels.height), format, SWS_AREA | SWS_ACCURATE_RND, nil, nil, nil)
    else { return nil }
    defer { unsafe sws_freeContext(scaler) }
    source.fill(pixels.bytes, rowByteCount: pixels.width * 3)
    let coefficients = unsafe sws_getCoefficients(SWS_CS_ITU601)
    _ = unsafe sws_setColorspaceDetails(
      scaler, coefficients, 1, coefficients, 1, 0, 1 << 16, 1 << 16)
    return unsafe Frame.scale(scaler, source.raw, target.raw) ? target : nil
  }
}
