import ArgumentParser

/// A time as a user types it: `900`, `90s`, `15m`, `2h`; without a unit it is in seconds. Not zero.
struct DurationArgument: ExpressibleByArgument, Equatable {
  let seconds: Int64

  init?(argument: String) {
    let units: [Character: Int64] = ["s": 1, "m": 60, "h": 3600]
    let unit = argument.last.flatMap { units[$0] }
    let digits = unit == nil ? argument[...] : argument.dropLast()
    guard !digits.isEmpty, digits.allSatisfy({ $0.isASCII && $0.isNumber }),
      let number = Int64(digits),
      (1...31_536_000).contains(number)
    else { return nil }
    seconds = number * (unit ?? 1)
  }
}
