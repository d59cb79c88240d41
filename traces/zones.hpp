// zones.hpp — several files as the zones of one market, on one clock.
#pragma once

#include <filesystem>
#include <span>

#include "traces/reader.hpp"

namespace ukemi::traces {

// Each file with availability is a zone, called as the file (or as the file says, where it holds
// several); its prices are its own, or those of a file with the same name (the endings
// ".availability" and ".price" of `ukemi import` left aside), or of the zone and type that both
// headers name. Without any availability each file with prices is a zone. In the order of the
// files.
//
// Where every file says when it was recorded, all are laid on one calendar, and the market begins
// when all of them have begun; else all are taken to begin together. The report's notes say which.
// An InputError for prices that fit no zone or several, and for files that have no time in common.
Trace join_zones(std::span<const std::filesystem::path> files, const ReadOptions& options);

// Names for several trace files: those that would be called the same get their folder's name, too.
std::vector<std::string> trace_names(std::span<const std::filesystem::path> files);

}  // namespace ukemi::traces
