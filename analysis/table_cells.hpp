// table_cells.hpp — numbers in the columns of tables.
#pragma once

#include <cstddef>
#include <string>

namespace ukemi::analysis {

// With fewer decimals, and then without digits, where it is too long for `width` columns.
std::string fitted(double value, int decimals, std::size_t width);

// Cents, and of less than ten of them three digits that say something: what a live run of some
// seconds costs is not nothing.
std::string fitted_usd(double usd, std::size_t width);
// The same of a difference: with its sign.
std::string fitted_usd_change(double usd, std::size_t width);

}  // namespace ukemi::analysis
