import AlbumModel
import PictureDecoders
import Testing

@testable import VideoPosters

// What a poster needs besides FFmpeg is arithmetic on pixels.

@Suite struct VideoPosterTests {
  // MARK: Turning

  /// Two pixels by three, all of them different.
  private static let frame = PosterPixels(
    width: 2, height: 3, bytes: (0..<18).map { UInt8($0) })

  @Test func aQuarterTurnIsClockwise() {
    let frame = VideoPosterTests.frame
    let turned = Turn(.quarter).applied(to: frame)
    #expect(turned.width == 3 && turned.height == 2)
    #expect(turned[2, 0] == frame[0, 0])
    #expect(turned[0, 1] == frame[1, 2])
  }

  @Test func turnsAddUp() {
    let frame = VideoPosterTests.frame
    var turned = frame
    for rotation in [Rotation.quarter, .half, .threeQuarters, .none] {
      turned = Turn(.quarter).applied(to: turned)
      #expect(turned == Turn(rotation).applied(to: frame), "\(rotation)")
    }
    #expect(turned == frame)
  }

  @Test func displayMatricesGiveTheirTurn() {
    let one: Int32 = 65536
    #expect(Turn(a: one, b: 0, c: 0, d: one) == Turn())
    #expect(Turn(a: 0, b: one, c: -one, d: 0) == Turn(.quarter))
    #expect(Turn(a: -one, b: 0, c: 0, d: -one) == Turn(.half))
    #expect(Turn(a: 0, b: -one, c: one, d: 0) == Turn(.threeQuarters))
    let mirrored = Turn(a: -one, b: 0, c: 0, d: one).applied(to: VideoPosterTests.frame)
    #expect(mirrored[1, 0] == VideoPosterTests.frame[0, 0])
  }

  /// A hostile video chooses any numbers.
  @Test func anyMatrixGivesSomeTurn() {
    let frame = VideoPosterTests.frame
    let numbers = [Int32.min, -1, 0, 1, .max]
    for a in numbers {
      for b in numbers {
        for c in numbers {
          for d in numbers {
            let turned = Turn(a: a, b: b, c: c, d: d).applied(to: frame)
            #expect(turned.width * turned.height == 6)
          }
        }
      }
    }
  }

  @Test func aPosterOfOneColourIsRecognised() {
    var poster = PosterPixels(width: 3, height: 3)
    #expect(poster.isOneColour)
    poster[2, 2] = .init(red: 0, green: 0, blue: 1)
    #expect(!poster.isOneColour)
  }

  // MARK: High dynamic range

  @Test func bothLevelsOfReferenceWhiteLookTheSame() throws {
    // BT.2408: 203 cd/m² are 58 % of PQ and 75 % of HLG.
    let quantized = HighDynamicRange.perceptualQuantizer.toSRGB(grey(0.5807))
    let logarithmic = HighDynamicRange.hybridLogGamma.toSRGB(grey(0.75))
    let (first, second) = (try #require(quantized.first), try #require(logarithmic.first))
    #expect(abs(Int(first) - Int(second)) <= 2, "\(first) and \(second)")
    #expect((200...245).contains(first), "\(first)")
  }

  @Test(arguments: [HighDynamicRange.perceptualQuantizer, .hybridLogGamma])
  func greyStaysGreyAndMoreLightIsBrighter(range: HighDynamicRange) {
    var last: UInt8 = 0
    for step in 0...64 {
      let shown = range.toSRGB(grey(Double(step) / 64))
      #expect(shown.count == 3)
      #expect(shown.allSatisfy { abs(Int($0) - Int(shown[0])) <= 1 }, "\(shown)")
      #expect(shown[0] >= last, "\(step): \(shown[0]) after \(last)")
      last = shown[0]
    }
    #expect(range.toSRGB(grey(0)) == [0, 0, 0])
    #expect(last > 245, "\(last)")
    #expect(range.toSRGB([]) == [])
  }

  private func grey(_ signal: Double) -> [UInt16] {
    [UInt16](repeating: UInt16(signal * 65535), count: 3)
  }

  // MARK: The mark

  @Test func theMarkIsInTheLowerRightCorner() {
    let grey = PosterPixels.Colour(red: 128, green: 128, blue: 128)
    let (width, height) = (160, 100)
    let plain = PosterPixels(
      width: width, height: height, bytes: [UInt8](repeating: 128, count: width * height * 3))
    var marked = plain
    PlayMark.draw(on: &marked)
    // The disc has a tenth of the short edge as its radius, and half of that as its distance.
    #expect(marked[145, 85] == .init(red: 255, green: 255, blue: 255))
    #expect(marked[145, 77].red < 128)
    for y in 0..<height {
      for x in 0..<width where x < 134 || y < 74 || x > 156 || y > 96 {
        #expect(marked[x, y] == grey, "\(x), \(y)")
      }
    }
  }

  @Test func aSmallPosterHasNoMark() {
    let small = PosterPixels(width: 200, height: PlayMark.leastEdge - 1)
    var marked = small
    PlayMark.draw(on: &marked)
    #expect(marked == small)
  }

  // MARK: Sizes and dates

  @Test(arguments: [
    // Nothing is enlarged.
    (100, 50, 1.0, 256, 100, 50),
    (1920, 1080, 1.0, 256, 256, 144),
    // DV of 720 by 576 pixels, shown as 4:3 and as 16:9.
    (720, 576, 16.0 / 15, 1000, 720, 540),
    (720, 576, 64.0 / 45, 1000, 720, 405),
    (100, 100, 0.5, 256, 50, 100),
    // A thin strip keeps a pixel.
    (100_000, 1, 1.0, 256, 256, 1),
  ])
  func posterSizes(_ width: Int, _ height: Int, _ aspect: Double, _ edge: Int, _ x: Int, _ y: Int) {
    let size = PosterSize.of(width: width, height: height, pixelAspect: aspect, edge: edge)
    #expect(size == (x, y))
  }

  @Test(arguments: [0, -1, 1000, .infinity, .nan])
  func aHostilePixelAspectCountsAsSquare(aspect: Double) {
    #expect(PosterSize.of(width: 40, height: 30, pixelAspect: aspect, edge: 256) == (40, 30))
  }
}
