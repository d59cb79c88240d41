// fuzz_readers.cpp — any bytes at all: every reader returns a sound record or an InputError.
//
// An input is read once, because most of its time went into reading it with all forms in turn. A
// last byte of 0x80 or more says with which, and is no part of the text: 0x80 + the number of a
// form; after these, pages of each form; after these, parameters of a market. Without such a byte
// the form is found from the content, as it is for users.
//
// For a long run: cmake --workflow --preset fuzz-fast, then fuzz_readers -entropic=0 NEW_FOLDER
// tests/traces/corpus. (libFuzzer's entropic schedule takes half of the time with so many readers
// in one program.)
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/input_error.hpp"
#include "base/invariant.hpp"
#include "traces/character_chart.hpp"
#include "traces/forms/json_documents.hpp"
#include "traces/market_file.hpp"
#include "traces/market_statistics.hpp"
#include "traces/reader.hpp"
#include "traces/series_statistics.hpp"

namespace {

template <class Value>
void check_series(const ukemi::traces::Series<Value>& series) {
    INVARIANT(!series.steps.empty() && series.steps.front().at == ukemi::Instant{});
    INVARIANT(series.end >= series.steps.back().at);
    for (std::size_t i = 1; i < series.steps.size(); ++i) {
        INVARIANT(series.steps[i].at > series.steps[i - 1].at);
        INVARIANT(series.steps[i].value != series.steps[i - 1].value);
    }
    INVARIANT(!ukemi::traces::describe(ukemi::traces::statistics_of(series)).empty());
    ukemi::traces::detail_of(series);
    const auto values = ukemi::traces::column_means(series, 30);
    INVARIANT(!ukemi::traces::chart(values, 0, 1, 2, 40, "").empty());
}

void check_trace(const ukemi::traces::Trace& trace) {
    for (const ukemi::traces::TraceSeries& series : trace.series) {
        INVARIANT(series.availability || series.price);
        if (series.availability) check_series(*series.availability);
        if (series.price) check_series(*series.price);
    }
    // What is no series can be written and is read again.
    const auto read_again = [](const std::string& text) {
        return ukemi::traces::read_trace_text(text, "again");
    };
    try {
        if (!trace.lifetimes.empty()) {
            const auto again = read_again(ukemi::traces::to_plain_csv(trace.lifetimes));
            INVARIANT(again.lifetimes.size() == trace.lifetimes.size());
        }
        if (!trace.bands.empty()) {
            const auto again = read_again(ukemi::traces::to_plain_csv(trace.bands));
            INVARIANT(again.bands.size() == trace.bands.size());
        }
    } catch (const ukemi::InputError&) {  // a name with a quote in it
    }
}

// Read with this form, or with whichever recognises the text if the name is empty.
void read_as(std::string_view text, std::string_view form, ukemi::traces::Polarity polarity) {
    ukemi::traces::ReadOptions options;
    options.form = form;
    options.polarity = polarity;
    options.gap = ukemi::whole_seconds(195);
    try {
        check_trace(ukemi::traces::read_trace_text(text, "fuzz", options));
    } catch (const ukemi::InputError&) {  // the only way to refuse
    }
}

// The two halves as pages of one record.
void read_pages(std::string_view text, const ukemi::traces::TraceForm& form) {
    const std::size_t middle = text.find('\n', text.size() / 2);
    if (form.read_pages == nullptr || middle == std::string_view::npos) return;
    const ukemi::traces::TracePage pages[] = {
        {text.substr(0, middle), "2020-02-26T17:03:53Z.out"},
        {text.substr(middle + 1), "2020-02-26T22:03:53Z.out"}};
    ukemi::traces::ReadOptions options;
    options.gap = ukemi::whole_seconds(195);
    try {
        check_trace(form.read_pages(pages, options));
    } catch (const ukemi::InputError&) {
    }
}

void read_market(std::string_view text) {
    try {
        const auto parameters = ukemi::traces::read_market_parameters_text(text, "fuzz");
        ukemi::traces::read_market_parameters_text(ukemi::traces::to_json(parameters), "again");
    } catch (const ukemi::InputError&) {
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) return 0;
    std::string_view text(reinterpret_cast<const char*>(data), size);
    if (data[size - 1] < 0x80U) {
        read_as(text, "", ukemi::traces::Polarity::one_is_unavailable);
        return 0;
    }
    text.remove_suffix(1);
    const auto forms = ukemi::traces::all_trace_forms();
    const std::size_t choice = data[size - 1] - 0x80U;
    if (choice < forms.size()) {
        read_as(text, forms[choice].name, ukemi::traces::Polarity::as_documented);
    } else if (choice < 2 * forms.size()) {
        read_pages(text, forms[choice - forms.size()]);
    } else {
        read_market(text);
    }
    return 0;
}
