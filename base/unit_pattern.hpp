// unit_pattern.hpp — what unit_text's parsers read, as regular expressions (those of ECMA-262,
// which JSON Schema has).
#pragma once

#include <string>

namespace ukemi {

std::string duration_pattern();
std::string price_pattern();
std::string egress_price_pattern();
std::string bytes_pattern();
std::string bandwidth_pattern();

}  // namespace ukemi
