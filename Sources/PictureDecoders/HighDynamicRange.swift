internal import Glibc

/// Pictures and videos with more light than a screen of sRGB shows, as telephones and cameras record them:
/// levels by BT.2100, PQ or HLG, in the colours of BT.2020.
package enum HighDynamicRange: Sendable {
  case perceptualQuantizer
  case hybridLogGamma

  /// Takes the numbers of ITU-T H.273; nil for a picture of another range or other colours.
  package init?(_ numbers: (primaries: Int, transfer: Int)?) {
    guard let numbers else { return nil }
    switch numbers {
    case (9, 16): self = .perceptualQuantizer
    case (9, 18): self = .hybridLogGamma
    default: return nil
    }
  }

  package func toSRGB(littleEndian bytes: [UInt8]) -> [UInt8] {
    toSRGB(
      stride(from: 0, to: bytes.count - 1, by: 2).map { index -> UInt16 in
        let high = UInt16(bytes[index + 1]) << 8
        return high | UInt16(bytes[index])
      })
  }

  /// Three levels of 16 bits a pixel become sRGB. White of 203 cd/m² (BT.2408) is where highlights begin:
  /// they are compressed, and all below stays as it is.
  package func toSRGB(_ levels: [UInt16]) -> [UInt8] {
    let table = (0...255).map { self.light(of: Double($0) / 255) }
    /// Between two of the table.
    func linear(_ level: UInt16) -> Double {
      let place = Double(level) / 65535 * 255
      let low = min(254, Int(place))
      return table[low] + (table[low + 1] - table[low]) * (place - Double(low))
    }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(levels.count)
    for start in stride(from: 0, to: levels.count - 2, by: 3) {
      var (red, green, blue) = (
        linear(levels[start]), linear(levels[start + 1]), linear(levels[start + 2])
      )
      if self == .hybridLogGamma {
        // The system's gamma for a screen of 1,000 cd/m².
        let luminance = 0.2627 * red + 0.6780 * green + 0.0593 * blue
        let gain = pow(luminance, 0.2) / 0.203
        (red, green, blue) = (red * gain, green * gain, blue * gain)
      }
      bytes.append(encoded(1.6605 * red - 0.5876 * green - 0.0728 * blue))
      bytes.append(encoded(-0.1246 * red + 1.1329 * green - 0.0083 * blue))
      bytes.append(encoded(-0.0182 * red - 0.1006 * green + 1.1187 * blue))
    }
    return bytes
  }

  /// PQ: in units of 203 cd/m². HLG: of the scene, 0 to 1.
  private func light(of signal: Double) -> Double {
    switch self {
    case .perceptualQuantizer:
      let power = pow(signal, 1 / 78.84375)
      let ratio = max(0, power - 0.8359375) / (18.8515625 - 18.6875 * power)
      return pow(ratio, 1 / 0.1593017578125) * 10000 / 203
    case .hybridLogGamma:
      return signal <= 0.5
        ? signal * signal / 3 : (exp((signal - 0.55991073) / 0.17883277) + 0.28466892) / 12
    }
  }

  private func encoded(_ light: Double) -> UInt8 {
    let knee = 0.7
    var shown = max(0, light)
    if shown > knee {
      let excess = (shown - knee) / (1 - knee)
      shown = knee + (1 - knee) * excess / (1 + excess)
    }
    let level = shown <= 0.0031308 ? shown * 12.92 : 1.055 * pow(shown, 1 / 2.4) - 0.055
    return UInt8(max(0, min(255, level * 255 + 0.5)))
  }
}
