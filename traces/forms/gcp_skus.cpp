// gcp_skus.cpp — GPUs in answers of Google's price catalogue, as `curl` prints those of
// https://cloudbilling.googleapis.com/v1/services/6F81-5844-456A/skus
// (https://cloud.google.com/billing/docs/reference/rest/v1/services.skus/list).
//
//     {"skus": [{"description": "Nvidia Tesla V100 GPU attached to Spot Preemptible VMs running
//                in Americas", "category": {"resourceGroup": "GPU", "usageType": "Preemptible"},
//                "serviceRegions": ["us-central1", …], "pricingInfo": [{"effectiveTime": …,
//                "pricingExpression": {"usageUnit": "h", "tieredRates": [{"unitPrice":
//                {"currencyCode": "USD", "units": "0", "nanos": 740000000}}]}}]}, …]}
//
// A dollar is units + nanos / 10^9. "effectiveTime" is a moment at which the price held: answers of
// several days are a history.
#include <fmt/format.h>

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "base/json_scanner.hpp"
#include "base/text_scan.hpp"
#include "traces/forms/forms.hpp"
#include "traces/forms/quoted_prices.hpp"
#include "traces/limits.hpp"

namespace ukemi::traces {

namespace {

constexpr std::string_view skus_left_out =
    "what is no GPU by the hour (cores, memory, disks), commitments and reservations";

// "Nvidia Tesla V100 GPU" of "Nvidia Tesla V100 GPU attached to Spot Preemptible VMs running in
// Americas".
std::string gpu_name(std::string_view description) {
    constexpr std::string_view spot = "Spot Preemptible ";
    if (description.starts_with(spot)) description.remove_prefix(spot.size());
    for (const std::string_view end : {" attached to ", " running in "}) {
        description = description.substr(0, description.find(end));
    }
    return std::string(description);
}

bool says_any(std::string_view text, std::initializer_list<std::string_view> words) {
    for (const std::string_view word : words) {
        if (text.find(word) != std::string_view::npos) return true;
    }
    return false;
}

// Reads documents of one page of text.
class SkuReader {
public:
    SkuReader(JsonScanner& json, QuotedPrices& prices, std::uint32_t page, std::size_t before)
        : json_(json), prices_(prices), page_(page), before_(before) {}

    // A page, a SKU, or a list of either.
    void read_value() {
        each_object(json_, [this] { read_object(); });
    }

private:
    struct Sku {
        std::string description;
        std::string group;
        std::string usage;
        std::vector<std::string> regions;
        std::vector<PlacedSample<Price>> rows;
        bool is_by_hour = true;
        std::string_view missing;
    };

    void read_object() {
        Sku sku;
        bool is_page = false;
        bool more = false;
        std::string_view key;
        json_.begin_object();
        const std::size_t begin = json_.offset();
        while (json_.next_key(key)) {
            if (key == "skus") {
                is_page = true;
                json_.begin_array();
                while (json_.next_element()) read_object();
            } else if (key == "nextPageToken") {
                more = !json_.text().empty();
            } else if (key == "description") {
                sku.description = json_.text();
            } else if (key == "category") {
                read_category(sku);
            } else if (key == "serviceRegions") {
                json_.begin_array();
                while (json_.next_element()) sku.regions.emplace_back(json_.text());
            } else if (key == "pricingInfo") {
                json_.begin_array();
                while (json_.next_element()) read_pricing(sku);
            } else {
                json_.skip_value();
            }
        }
        if (is_page) return prices_.page_ends(more);
        add(sku, begin);
    }

    void read_category(Sku& sku) {
        std::string_view key;
        json_.begin_object();
        while (json_.next_key(key)) {
            if (key == "resourceGroup") {
                sku.group = json_.text();
            } else if (key == "usageType") {
                sku.usage = json_.text();
            } else {
                json_.skip_value();
            }
        }
    }

    // One moment's price.
    void read_pricing(Sku& sku) {
        PlacedSample<Price> row;
        bool has_time = false;
        bool has_price = false;
        std::string_view key;
        json_.begin_object();
        row.offset = before_ + json_.offset();
        row.page = page_;
        while (json_.next_key(key)) {
            if (key == "effectiveTime") {
                const std::string_view text = json_.text();
                const auto stamp = parse_timestamp(text);
                if (!stamp) {
                    json_.fail(
                        fmt::format("expected a time such as 2023-02-01T00:00:00Z (years "
                                    "1970 to 2199), found {}",
                                    quoted(text)));
                }
                row.stamp_ns = *stamp;
                has_time = true;
            } else if (key == "pricingExpression") {
                has_price = read_expression(sku, row.value);
            } else {
                json_.skip_value();
            }
        }
        if (!has_price) sku.missing = "unitPrice";
        if (!has_time) sku.missing = "effectiveTime";
        sku.rows.push_back(row);
    }

    bool read_expression(Sku& sku, Price& price) {
        bool has_price = false;
        std::string_view key;
        json_.begin_object();
        while (json_.next_key(key)) {
            if (key == "usageUnit") {
                sku.is_by_hour = json_.text() == "h";
            } else if (key == "tieredRates") {
                json_.begin_array();
                while (json_.next_element()) has_price = read_rate(price) || has_price;
            } else {
                json_.skip_value();
            }
        }
        return has_price;
    }

    // Of several rates the last is kept: what use beyond a free amount costs.
    bool read_rate(Price& price) {
        bool has_price = false;
        std::string_view key;
        json_.begin_object();
        while (json_.next_key(key)) {
            if (key == "unitPrice") {
                price = read_money();
                has_price = true;
            } else {
                json_.skip_value();
            }
        }
        return has_price;
    }

    Price read_money() {
        constexpr std::int64_t dollars_max = 1'000'000;
        constexpr std::int64_t nanos = 1'000'000'000;
        std::int64_t units = 0;
        std::int64_t parts = 0;
        std::string_view key;
        json_.begin_object();
        while (json_.next_key(key)) {
            if (key == "currencyCode") {
                const std::string_view code = json_.text();
                if (code != "USD") {
                    json_.fail(
                        fmt::format("expected {}, found {}", expected_currency, quoted(code)));
                }
            } else if (key == "units") {  // 64 bits are a text in Google's JSON
                units = json_.peek() == JsonScanner::Kind::text
                            ? parse_whole(json_.text(), DecimalGrammar::json).value_or(-1)
                            : json_.whole(0, dollars_max, expected_price);
                if (units < 0 || units >= dollars_max) {
                    json_.fail(fmt::format("expected {}", expected_price));
                }
            } else if (key == "nanos") {
                parts = json_.whole(0, nanos - 1, "billionths of a dollar, less than one dollar");
            } else {
                json_.skip_value();
            }
        }
        return Price::of(units * nanos + parts);
    }

    void add(Sku& sku, std::size_t begin) {
        const bool is_gpu = sku.group == "GPU" || says_any(sku.description, {"GPU", " gpu "});
        const bool is_spot =
            sku.usage == "Preemptible" || says_any(sku.description, {"Spot Preemptible"});
        const bool is_sold_otherwise =
            (sku.usage != "OnDemand" && !is_spot) ||
            says_any(sku.description, {"DWS", "Commitment", "Reserv", "Sole Tenancy", "License"});
        if (!is_gpu || !sku.is_by_hour || is_sold_otherwise) return prices_.leave_out();
        if (sku.rows.empty()) sku.missing = "pricingInfo";
        if (sku.regions.empty()) sku.missing = "serviceRegions";
        if (!sku.missing.empty()) {
            json_.fail_at(begin, fmt::format("expected the key \"{}\"", sku.missing));
        }
        for (const std::string& region : sku.regions) {
            for (const PlacedSample<Price>& row : sku.rows) {
                prices_.add({region, gpu_name(sku.description)}, is_spot, row);
            }
        }
    }

    JsonScanner& json_;
    QuotedPrices& prices_;
    std::uint32_t page_;
    std::size_t before_;
};

Trace read_sku_pages(std::span<const TracePage> pages, const ReadOptions&) {
    QuotedPrices prices(pages);
    for_each_document(pages, [&](JsonScanner& json, std::uint32_t page, std::size_t before) {
        SkuReader(json, prices, page, before).read_value();
    });
    ImportReport report;
    report.notes.emplace_back("prices of a GPU alone: cores and memory are billed beside it");
    return std::move(prices).finish(std::move(report), skus_left_out);
}

Trace read_skus(std::string_view text, const std::filesystem::path& file,
                const ReadOptions& options) {
    const TracePage page{text, file};
    return read_sku_pages({&page, 1}, options);
}

}  // namespace

TraceForm gcp_skus_form() {
    return {"gcp_skus_json",
            "GPUs in answers of cloudbilling.googleapis.com: skus, pricingInfo, nanos, …",
            [](std::string_view head, const std::filesystem::path&) {
                return begins_json(head) &&
                       (has_json_key(head, "skus") || has_json_key(head, "pricingInfo")) &&
                       has_json_key(head, "serviceRegions");
            },
            read_skus, read_sku_pages};
}

}  // namespace ukemi::traces
