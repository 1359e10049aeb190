"""Studies: what runs tell about judges and people, and what captions speak of."""

__all__: list[str] = []
