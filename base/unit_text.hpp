// unit_text.hpp — quantities as people write them: "90 s", "3.06 USD/h".
//
// Amounts are plain decimals and are read exactly: "0.1 h" is 360 s. What is finer than the
// quantity's integer, such as "0.1 ns", is refused and not rounded; so are signs and exponents.
#pragma once

#include <string>
#include <string_view>

#include "base/quantity.hpp"

namespace ukemi {

// For complaints: what the parsers expect.
inline constexpr std::string_view duration_form =
    "a duration such as \"15 min\" (ns, us, ms, s, min, h, d)";
inline constexpr std::string_view price_form = "a price such as \"3.06 USD/h\"";
inline constexpr std::string_view bytes_form =
    "a size such as \"20 GB\" (B, KB, MB, GB, TB, KiB, MiB, GiB, TiB)";
inline constexpr std::string_view bandwidth_form =
    "a bandwidth such as \"10 Gbit/s\" (bit/s, Kbit/s, Mbit/s, Gbit/s, B/s, MB/s, GB/s)";
inline constexpr std::string_view egress_price_form = "a price such as \"0.02 USD/GB\"";

// Throw InputError("WHERE: expected …, found …"); `where` is a file and a path, or "--option".
Duration parse_duration(std::string_view text, std::string_view where);
Price parse_price(std::string_view text, std::string_view where);
Bytes parse_bytes(std::string_view text, std::string_view where);
BytesPerSecond parse_bandwidth(std::string_view text, std::string_view where);  // whole bits/s
EgressPrice parse_egress_price(std::string_view text, std::string_view where);

// The shortest exact form that the parser accepts; of equals the one without a point, then the one
// with the larger unit: "90 s", "1 h", "1.5 s". A negative one, which no parser accepts, has a
// sign.
std::string format_duration(Duration d);
std::string format_price(Price p);  // "3.06 USD/h"
// With cents, and as many digits more as it has: "20.00", "0.0005".
std::string format_dollars(Dollars dollars);

}  // namespace ukemi
