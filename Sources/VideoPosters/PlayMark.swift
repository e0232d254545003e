/// The mark in the lower right corner of a video's thumbnail: a white triangle that points to the right, on a
/// dark disc.
enum PlayMark {
  /// A smaller thumbnail gets none: the mark would hide it.
  static let leastEdge = 48
  /// Points per pixel and axis, which smooth the borders.
  private static let points = 4

  static func draw(on poster: inout PosterPixels) {
    let short = min(poster.width, poster.height)
    if short < leastEdge { return }
    let radius = Double(short) / 10
    let margin = radius / 2
    let centre = (
      x: Double(poster.width) - margin - radius, y: Double(poster.height) - margin - radius
    )
    let rows = max(0, Int(centre.y - radius))..<min(poster.height, Int(centre.y + radius) + 1)
    let columns = max(0, Int(centre.x - radius))..<min(poster.width, Int(centre.x + radius) + 1)
    for y in rows {
      for x in columns {
        let share = shares(x: Double(x) - centre.x, y: Double(y) - centre.y, radius: radius)
        let colour = poster[x, y]
        func mix(_ level: UInt8) -> UInt8 {
          let darkened = Double(level) * (1 - 0.6 * share.disc)
          return UInt8(max(0, min(255, darkened + (255 - darkened) * share.triangle)))
        }
        poster[x, y] = .init(
          red: mix(colour.red), green: mix(colour.green), blue: mix(colour.blue))
      }
    }
  }

  /// The shares of a pixel that the disc and the triangle cover. The pixel's corner is given from the centre
  /// of the disc.
  private static func shares(x: Double, y: Double, radius: Double)
    -> (disc: Double, triangle: Double)
  {
    var disc = 0
    var triangle = 0
    for row in 0..<points {
      for column in 0..<points {
        let across = (x + (Double(column) + 0.5) / Double(points)) / radius
        let down = (y + (Double(row) + 0.5) / Double(points)) / radius
        if across * across + down * down <= 1 { disc += 1 }
        // Its corners lie on a circle of half the radius or a little more.
        if across >= -0.28, abs(down) <= (0.56 - across) * 0.577 { triangle += 1 }
      }
    }
    let all = Double(points * points)
    return (Double(disc) / all, Double(triangle) / all)
  }
}
