// fuzz_readers.cpp — any bytes at all: every reader returns a sound series or an InputError.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/input_error.hpp"
#include "base/invariant.hpp"
#include "traces/reader.hpp"
#include "traces/series_statistics.hpp"

namespace {

template <class Value>
void check_series(const ukemi::Series<Value>& series) {
    INVARIANT(!series.steps.empty() && series.steps.front().at == ukemi::Instant{});
    INVARIANT(series.end >= series.steps.back().at);
    for (std::size_t i = 1; i < series.steps.size(); ++i) {
        INVARIANT(series.steps[i].at > series.steps[i - 1].at);
        INVARIANT(series.steps[i].value != series.steps[i - 1].value);
    }
    INVARIANT(!ukemi::describe(ukemi::statistics_of(series)).empty());
}

// Read with this form, or with whichever recognises the text if the name is empty.
void read_as(std::string_view text, std::string_view form, ukemi::Polarity polarity) {
    ukemi::ReadOptions options;
    options.form = form;
    options.polarity = polarity;
    options.gap = ukemi::whole_seconds(195);
    try {
        const ukemi::Trace trace = ukemi::read_trace_text(text, "fuzz", options);
        for (const ukemi::TraceSeries& series : trace.series) {
            INVARIANT(series.availability || series.price);
            if (series.availability) check_series(*series.availability);
            if (series.price) check_series(*series.price);
        }
    } catch (const ukemi::InputError&) {  // the only way to refuse
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) return 0;
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    read_as(text, "", ukemi::Polarity::one_is_unavailable);
    for (const ukemi::TraceForm& form : ukemi::all_trace_forms()) {
        read_as(text, form.name, ukemi::Polarity::as_documented);
    }
    return 0;
}
