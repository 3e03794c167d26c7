// Answers requests about associations.
#include "server/association_api.h"

#include <boost/json.hpp>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "base/utf8.h"
#include "server/association_items.h"
#include "server/association_stream.h"
#include "server/association_writer.h"
#include "server/json_text.h"

namespace escalona::server {
namespace {

namespace json = boost::json;
using assoc::Namespace;
using assoc::NamespaceSettings;

constexpr size_t kMaxItemBytes = 32 << 10;
constexpr size_t kMaxBasketsBytes = 8 << 20;

void SetInvalid(std::string_view field, std::string_view message, Response& response) {
  SetError(400, "invalid_argument", std::string(field) + " " + std::string(message), field,
           response);
}

// A number of the query; `fallback` if it is not there. False: it is none, or out of its range.
template <typename T>
bool QueryNumber(const Request& request, std::string_view name, T least, T fallback, T& number,
                 Response& response) {
  number = fallback;
  if (request.query.empty()) return true;
  const auto text = request.Query(name);
  if (!text.has_value()) return true;
  const auto end = std::from_chars(text->data(), text->data() + text->size(), number);
  if (end.ec == std::errc() && end.ptr == text->data() + text->size() && number >= least) {
    return true;
  }
  SetInvalid(name,
             "must be a whole number from " + std::to_string(least) + " to " +
                 std::to_string(std::numeric_limits<T>::max()),
             response);
  return false;
}

bool CheckKey(std::string_view key, std::string_view field, Response& response) {
  if (key.empty()) {
    SetInvalid(field, "must not be empty", response);
  } else if (key.size() > kMaxAssociationKeyBytes) {
    SetInvalid(field, "may have " + std::to_string(kMaxAssociationKeyBytes) + " bytes", response);
  } else if (!IsUtf8(key)) {
    SetInvalid(field, "must be UTF-8", response);
  } else {
    return true;
  }
  return false;
}

std::optional<StreamFormat> FormatOf(std::string_view name) {
  const auto is = [name](std::string_view other) { return EqualIgnoringCase(name, other); };
  if (is("csv") || is("text/csv")) return StreamFormat::kCsv;
  if (is("ndjson") || is("application/x-ndjson") || is("application/ndjson")) {
    return StreamFormat::kNdjson;
  }
  return std::nullopt;
}

// What ?format= says, else what the header says, else lines of JSON.
bool ChooseFormat(const Request& request, std::string_view header, StreamFormat& format,
                  Response& response) {
  format = FormatOf(header).value_or(StreamFormat::kNdjson);
  const auto asked = request.Query("format");
  if (!asked.has_value()) return true;
  const auto known = FormatOf(*asked);
  if (!known.has_value()) {
    SetInvalid("format", "must be ndjson or csv", response);
    return false;
  }
  format = *known;
  return true;
}

void AppendEntry(std::string_view key, uint64_t count, std::string& body) {
  body += "{\"associatedKey\":";
  AppendJsonString(key, body);
  body += ",\"frequency\":";
  char digits[24];
  body.append(digits, std::to_chars(digits, digits + sizeof(digits), count).ptr);
  body += '}';
}

// --- one namespace -------------------------------------------------------------------------------

// A call on a namespace: the request, and the parameters of the path behind the namespace's name.
struct Call {
  const std::shared_ptr<Namespace>& space;
  const Request& request;
  const std::string* params;
  Response& response;
  const Clock& clock;
};

void PostOne(Call& call) {
  thread_local ItemParser parser;
  AssociationItem item;
  ItemError error;
  if (!parser.ParseOne(call.request.body, item, error)) {
    const std::string_view field = error.field.empty() ? "body" : error.field;
    SetInvalid(field, error.message, call.response);
    return;
  }
  assoc::DurableAssociations& counter = call.space->counter();
  if (!call.request.may_wait && counter.IsAway(item.key)) {
    call.response.deferred = true;
    return;
  }
  if (!AdmitWrites(*call.space, 1, call.clock, call.response)) return;
  const auto counted = counter.Increment(item.key, item.associated_key, item.count, EventOf(item));
  if (counted.ok() || absl::IsAlreadyExists(counted.status())) {
    if (counted.ok()) call.space->CountWrites(1);
    call.response.status = 204;
    return;
  }
  if (absl::IsResourceExhausted(counted.status())) {
    call.space->CountRefused(1);
    SetQuotaError(counted.status(), kRetryFull, call.response);
  } else {
    SetError(counted.status(), "", call.response);
  }
}

void GetTop(Call& call) {
  const std::string& key = call.params[0];
  int64_t k;
  int64_t offset;
  uint64_t min;
  if (!CheckKey(key, "key", call.response) ||
      !QueryNumber<int64_t>(call.request, "k", 1, static_cast<int64_t>(call.space->k()), k,
                            call.response) ||
      !QueryNumber<int64_t>(call.request, "offset", 0, 0, offset, call.response) ||
      !QueryNumber<uint64_t>(call.request, "min", 0, 0, min, call.response)) {
    return;
  }
  assoc::DurableAssociations& counter = call.space->counter();
  std::string& body = call.response.body;
  body += '[';
  const auto append = [&](std::string_view associated, uint64_t count) {
    if (body.size() > 1) body += ',';
    AppendEntry(associated, count, body);
  };
  if (offset != 0 || !counter.VisitHead(key, k, min, append)) {
    if (!call.request.may_wait && counter.IsAway(key)) {
      call.response.deferred = true;
      return;
    }
    const auto top = counter.Top(key, k, offset, min);
    if (!top.ok()) {
      SetError(top.status(), "", call.response);
      return;
    }
    for (const CountedKey& entry : *top) append(entry.key, entry.count);
  }
  call.space->CountReads(1);
  body += ']';
}

bool CheckPair(Call& call) {
  return CheckKey(call.params[0], "key", call.response) &&
         CheckKey(call.params[1], "associatedKey", call.response);
}

void GetPair(Call& call) {
  if (!CheckPair(call)) return;
  if (!call.request.may_wait && call.space->counter().IsAway(call.params[0])) {
    call.response.deferred = true;
    return;
  }
  const auto standing = call.space->counter().CountAndRank(call.params[0], call.params[1]);
  if (!standing.ok()) {
    SetError(standing.status(), "", call.response);
    return;
  }
  call.space->CountReads(1);
  if (!standing->has_value()) {
    SetError(404, "not_found", "the key has no such associated key", "associatedKey",
             call.response);
    return;
  }
  AppendEntry(call.params[1], (*standing)->count, call.response.body);
  call.response.body.pop_back();
  call.response.body += ",\"rank\":" + std::to_string((*standing)->rank) + "}";
}

void DeleteOne(Call& call) {
  if (!CheckKey(call.params[0], "key", call.response)) return;
  const auto deleted = call.space->counter().DeleteAssociator(call.params[0]);
  if (!deleted.ok()) SetError(deleted.status(), "", call.response);
}

void DeletePair(Call& call) {
  if (!CheckPair(call)) return;
  const auto deleted = call.space->counter().DeletePair(call.params[0], call.params[1]);
  if (!deleted.ok()) SetError(deleted.status(), "", call.response);
}

void DeleteEverywhere(Call& call) {
  const auto key = call.request.Query("associatedKey");
  if (!key.has_value()) {
    SetInvalid("associatedKey", "must be in the query: it goes from all lists", call.response);
    return;
  }
  if (!CheckKey(*key, "associatedKey", call.response)) return;
  const auto lists = call.space->counter().DeleteKeyEverywhere(*key);
  if (!lists.ok()) {
    SetError(lists.status(), "", call.response);
    return;
  }
  call.response.body = "{\"lists\":" + std::to_string(*lists) + "}";
}

void PostBaskets(Call& call) {
  std::vector<Basket> baskets;
  std::vector<uint64_t> indices;
  std::vector<IndexedItemError> wrong;
  ItemError error;
  if (!ParseBaskets(call.request.body, baskets, indices, wrong, error)) {
    SetInvalid("body", error.message, call.response);
    return;
  }
  uint64_t pairs = 0;
  for (const Basket& basket : baskets) pairs += basket.keys.size() * (basket.keys.size() - 1);
  if (!AdmitWrites(*call.space, pairs, call.clock, call.response)) return;
  AssociationWriter writer(*call.space);
  for (const auto& [index, item_error] : wrong) writer.Refuse(index, item_error);
  for (size_t i = 0; i < baskets.size() && writer.failed().ok(); ++i) {
    writer.Write(baskets[i], indices[i]);
  }
  writer.Respond(call.response);
}

void GetTotals(Call& call) {
  const AssociationTotals totals = call.space->counter().Totals();
  call.response.body = "{\"associators\":" + std::to_string(totals.associators) +
                       ",\"pairs\":" + std::to_string(totals.pairs) +
                       ",\"count\":" + std::to_string(totals.count) + "}";
}

void GetTotalsOf(Call& call) {
  if (!CheckKey(call.params[0], "key", call.response)) return;
  const auto totals = call.space->counter().TotalsOf(call.params[0]);
  if (!totals.ok()) {
    SetError(totals.status(), "", call.response);
    return;
  }
  call.space->CountReads(1);
  call.response.body = "{\"pairs\":" + std::to_string(totals->pairs) +
                       ",\"count\":" + std::to_string(totals->count) + "}";
}

void Export(Call& call) {
  StreamFormat format;
  if (!ChooseFormat(call.request, call.request.Header("accept"), format, call.response)) return;
  auto source = NewExport(call.space, format);
  if (!source.ok()) {
    SetError(source.status(), "", call.response);
    return;
  }
  call.response.content_type = format == StreamFormat::kCsv ? "text/csv" : "application/x-ndjson";
  call.response.source = std::move(*source);
}

std::unique_ptr<BodySink> Import(Call& call, const AssociationApiOptions& options) {
  StreamFormat format;
  if (!ChooseFormat(call.request, call.request.ContentType(), format, call.response)) {
    return nullptr;
  }
  const std::string mode = call.request.Query("mode").value_or("add");
  if (mode == "add") return NewBatchSink(call.space, call.clock, format, options.max_array_bytes);
  if (mode == "replace") {
    return NewReplaceSink(call.space, call.clock, format, options.max_list_bytes);
  }
  SetInvalid("mode", "must be add or replace", call.response);
  return nullptr;
}

std::unique_ptr<BodySink> Batch(Call& call, const AssociationApiOptions& options) {
  StreamFormat format;
  if (!ChooseFormat(call.request, call.request.ContentType(), format, call.response)) {
    return nullptr;
  }
  return NewBatchSink(call.space, call.clock, format, options.max_array_bytes);
}

// --- the namespaces ------------------------------------------------------------------------------

// Without an exponent where there is no fraction.
json::value NumberJson(double number) {
  if (number == std::floor(number) && number < 1e15) return static_cast<uint64_t>(number);
  return number;
}

json::object SettingsJson(const NamespaceSettings& settings) {
  return {{"k", settings.k},
          {"maxPairs", settings.max_pairs},
          {"writesPerSecond", settings.writes_per_second},
          {"halfLifeSeconds", NumberJson(absl::ToDoubleSeconds(settings.half_life))},
          {"eventWindow", settings.event_window},
          {"saturate32Bit", settings.saturate_32bit},
          {"internIds", settings.intern_ids}};
}

json::object NamespaceJson(std::string_view name, const Namespace& space) {
  const assoc::NamespaceUsage usage = space.Usage();
  return {{"namespace", json::string_view(name.data(), name.size())},
          {"settings", SettingsJson(space.settings())},
          {"usage",
           {{"associators", usage.totals.associators},
            {"pairs", usage.totals.pairs},
            {"count", usage.totals.count},
            {"memoryBytes", usage.memory_bytes},
            {"writes", usage.writes},
            {"reads", usage.reads},
            {"refused", usage.refused}}}};
}

bool ReadNumber(const json::value& value, uint64_t& number) {
  if (value.is_uint64()) {
    number = value.get_uint64();
  } else if (value.is_int64() && value.get_int64() >= 0) {
    number = static_cast<uint64_t>(value.get_int64());
  } else {
    return false;
  }
  return true;
}

// Sets what the body names. False: `response` says what is wrong.
bool ReadSettings(std::string_view body, NamespaceSettings& settings, Response& response) {
  if (body.empty()) return true;
  json::value value;
  std::string wrong = "must be an object";
  if (!ParseJson(body, value, wrong) || !value.is_object()) {
    SetInvalid("body", wrong, response);
    return false;
  }
  for (const auto& [name, member] : value.get_object()) {
    const std::string_view field(name.data(), name.size());
    bool good = false;
    std::string_view right = assoc::SettingRange(field);
    if (field == "k") {
      good = ReadNumber(member, settings.k);
    } else if (field == "maxPairs") {
      good = ReadNumber(member, settings.max_pairs);
    } else if (field == "writesPerSecond") {
      good = ReadNumber(member, settings.writes_per_second);
    } else if (field == "eventWindow") {
      good = ReadNumber(member, settings.event_window);
    } else if (field == "halfLifeSeconds") {
      json::error_code not_number;
      const auto seconds = member.to_number<double>(not_number);
      good = !not_number && seconds >= 0 && seconds <= 1e10;
      if (good) settings.half_life = absl::Seconds(seconds);
    } else if (field == "saturate32Bit" || field == "internIds") {
      good = member.is_bool();
      if (good) {
        (field == "internIds" ? settings.intern_ids : settings.saturate_32bit) = member.get_bool();
      }
    }
    if (!good) {
      SetInvalid(field, right, response);
      return false;
    }
  }
  return true;
}

bool CheckRanges(const NamespaceSettings& settings, Response& response) {
  const auto [field, right] = assoc::WrongSetting(settings);
  if (!field.empty()) SetInvalid(field, right, response);
  return field.empty();
}

class Api {
 public:
  Api(const AssociationApiOptions& options, const std::unique_ptr<assoc::Namespaces>& namespaces,
      const Clock& clock)
      : options_(options), namespaces_(namespaces), clock_(clock) {}

  // Both forms of a path: of the default namespace, and of a named one.
  template <typename Handle>
  void Add(Router& router, Method method, const std::string& path, Handle handle,
           RouteOptions options) const {
    router.Add(
        method, path,
        [api = *this, handle](const Request& request, Response& response) {
          Call call{api.namespaces_->Default(), request, request.params.data(), response,
                    api.clock_};
          handle(call);
        },
        options);
    router.Add(
        method, "/ns/{namespace}" + path,
        [api = *this, handle](const Request& request, Response& response) {
          const auto space = api.Find(request, response);
          Call call{space, request, request.params.data() + 1, response, api.clock_};
          if (space != nullptr) handle(call);
        },
        options);
  }
  template <typename Handle>
  void AddUpload(Router& router, const std::string& path, Handle handle,
                 RouteOptions options) const {
    router.AddUpload(
        Method::kPost, path,
        [api = *this, handle](const Request& request, Response& response) {
          Call call{api.namespaces_->Default(), request, request.params.data(), response,
                    api.clock_};
          return handle(call, api.options_);
        },
        options);
    router.AddUpload(
        Method::kPost, "/ns/{namespace}" + path,
        [api = *this, handle](const Request& request,
                              Response& response) -> std::unique_ptr<BodySink> {
          const auto space = api.Find(request, response);
          Call call{space, request, request.params.data() + 1, response, api.clock_};
          if (space == nullptr) return nullptr;
          return handle(call, api.options_);
        },
        options);
  }

  void AddNamespaces(Router& router) const {
    const RouteOptions waits{.blocking = true};
    router.Add(Method::kGet, "/ns", [api = *this](const Request&, Response& response) {
      json::array all;
      for (const std::string& name : api.namespaces_->Names()) {
        const auto space = api.namespaces_->Find(name);
        if (space != nullptr) all.push_back(NamespaceJson(name, *space));
      }
      response.body = json::serialize(all);
    });
    router.Add(Method::kGet, "/ns/{namespace}",
               [api = *this](const Request& request, Response& response) {
                 const auto space = api.Find(request, response);
                 if (space == nullptr) return;
                 response.body = json::serialize(NamespaceJson(request.params[0], *space));
               });
    router.Add(
        Method::kPut, "/ns/{namespace}",
        [api = *this](const Request& request, Response& response) { api.Put(request, response); },
        waits);
    router.Add(
        Method::kDelete, "/ns/{namespace}",
        [api = *this](const Request& request, Response& response) {
          const absl::Status status = api.namespaces_->Drop(request.params[0]);
          if (!status.ok()) SetError(status, "namespace", response);
        },
        waits);
  }

 private:
  std::shared_ptr<Namespace> Find(const Request& request, Response& response) const {
    auto space = namespaces_->Find(request.params[0]);
    if (space == nullptr) {
      SetError(404, "not_found", "no such namespace; PUT /ns/{namespace} makes one", "namespace",
               response);
    }
    return space;
  }

  void Put(const Request& request, Response& response) const {
    const std::string& name = request.params[0];
    bool said = false;
    bool saturates = false;  // is asked to change
    const auto made = namespaces_->Update(name, [&](NamespaceSettings& settings) {
      const NamespaceSettings before = settings;
      said = !ReadSettings(request.body, settings, response) || !CheckRanges(settings, response);
      saturates = settings.saturate_32bit != before.saturate_32bit;
      return said ? absl::InvalidArgumentError("") : absl::OkStatus();
    });
    if (said) return;
    if (!made.ok()) {
      std::string_view field;
      if (absl::IsInvalidArgument(made.status())) field = "namespace";
      if (absl::IsFailedPrecondition(made.status())) {
        field = saturates ? "saturate32Bit" : "internIds";
      }
      SetError(made.status(), field, response);
      return;
    }
    response.status = *made ? 201 : 200;
    const auto space = namespaces_->Find(name);
    if (space != nullptr) response.body = json::serialize(NamespaceJson(name, *space));
  }

  AssociationApiOptions options_;
  const std::unique_ptr<assoc::Namespaces>& namespaces_;
  const Clock& clock_;
};

}  // namespace

void AddAssociationRoutes(const AssociationApiOptions& options,
                          const std::unique_ptr<assoc::Namespaces>& namespaces, const Clock& clock,
                          Router& router) {
  const Api api(options, namespaces, clock);
  const RouteOptions waits{.blocking = true};
  const RouteOptions one{.blocking = options.writes_wait, .max_body_bytes = kMaxItemBytes};
  const RouteOptions writes{.blocking = options.writes_wait};
  const RouteOptions baskets{.blocking = true, .max_body_bytes = kMaxBasketsBytes};
  api.Add(router, Method::kPost, "/associations", PostOne, one);
  api.Add(router, Method::kGet, "/associations", Export, waits);
  api.Add(router, Method::kDelete, "/associations", DeleteEverywhere, waits);
  api.AddUpload(router, "/associations/batch", Batch, writes);
  api.Add(router, Method::kPost, "/associations/baskets", PostBaskets, baskets);
  api.AddUpload(router, "/associations/import", Import, waits);
  api.Add(router, Method::kGet, "/associations/{key}", GetTop, {});
  api.Add(router, Method::kDelete, "/associations/{key}", DeleteOne, waits);
  api.Add(router, Method::kGet, "/associations/{key}/{associatedKey}", GetPair, {});
  api.Add(router, Method::kDelete, "/associations/{key}/{associatedKey}", DeletePair, waits);
  api.Add(router, Method::kGet, "/totals", GetTotals, {});
  api.Add(router, Method::kGet, "/totals/{key}", GetTotalsOf, waits);
  api.AddNamespaces(router);
}

}  // namespace escalona::server
