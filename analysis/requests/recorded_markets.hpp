// recorded_markets.hpp — recorded markets as somebody names them, read; and the generator that is
// set to them.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "traces/market_fit.hpp"
#include "traces/series.hpp"

namespace ukemi::analysis {

struct RecordsRequest {
    std::vector<std::string> files;
    std::string zone;           // this one only, of a file with several
    std::string instance_type;  // this one only
    std::string gap;            // "1 h" between samples, for forms that lack it
    bool join = false;          // all files are one record: pages, rounds, months
    bool zones = false;         // the files are zones, and their prices, of one market
};

struct NamedRecord {
    std::string name;  // its file; of several "FILE and 2 more"
    traces::Trace trace;
};
// In the order of the files. InputError for what cannot be read, and for both of join and zones.
std::vector<NamedRecord> read_records(const RecordsRequest& request);

// What readers found that makes the records doubtful, a line each, with the first file of it.
std::vector<std::string> warnings_of(std::span<const NamedRecord> records);

struct FitRequest {
    RecordsRequest records;
    std::string name = "fitted";
    std::string source;     // where the records come from; empty: the files' names
    std::string on_demand;  // "0.65 USD/h": spikes are above it
    std::string stretches;  // markets of stretches of the record, of this mean length
    bool compared = true;   // say how well it fits
};
struct RecordedFit {
    traces::MarketFit fit;
    std::string
        comparison;  // what the generator makes beside what was recorded, in words, if asked
    std::vector<std::string> warnings = {};  // about the records, as warnings_of has them
};
// InputError for records without series and lifetimes.
RecordedFit fit_records(const FitRequest& request);

}  // namespace ukemi::analysis
